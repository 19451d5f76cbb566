package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newSkills() *cobra.Command {
	c := &cobra.Command{
		Use:   "skills",
		Short: "Give the agent skills: folders with a SKILL.md",
		Long: `Skills are folders with a SKILL.md, in the open format of agentskills.io, in skills/ of the
home or where skills: in rouse.yaml says. The model sees the names and descriptions of
those that a person accepted, and reads one when it is of use. One whose files changed
since is off until it is accepted again.

Exit codes: 0, 1 if a skill cannot be had or something is wrong with one, 2 usage.`,
	}
	verb := func(use, short string, args cobra.PositionalArgs, run func(*setup.Setup, []string) error) *cobra.Command {
		return a.withJSON(&cobra.Command{Use: use, Short: short, Args: args, RunE: in(a.open, run)})
	}
	add := verb("add FOLDER|ADDRESS[#REF][//FOLDER]", "Copy a skill into the home and accept it; git fetches one from an address. You vouch for it: read it", cobra.ExactArgs(1),
		func(home *setup.Setup, args []string) error {
			ctx, stop := untilSignal()
			defer stop()
			k, err := home.AddSkill(ctx, args[0])
			return a.acceptedSkill(k, err)
		})
	add.Example = `  rouse skills add ~/.claude/skills/pdf
  rouse skills add https://github.com/anthropics/skills#main//skills/pdf`
	c.AddCommand(add,
		verb("accept NAME", "Accept a skill as it is now, or forget one that is gone", cobra.ExactArgs(1), func(home *setup.Setup, args []string) error {
			k, err := home.AcceptSkill(args[0])
			return a.acceptedSkill(k, err)
		}),
		verb("list", "List the skills: on, or off because they are new, changed, gone or broken", nil, func(home *setup.Setup, _ []string) error {
			return a.printSkills(home.Skills())
		}),
		verb("check", "Check the skills: the format, what is hidden from people, what was accepted", nil, func(home *setup.Setup, _ []string) (err error) {
			list := home.Skills()
			for _, k := range list {
				if k.State != setup.SkillOn || len(k.Problems) > 0 {
					err = &coded{exitFailed, nil}
				}
				a.sayProblems(k)
				if mend := k.Mend(); mend != "" {
					fmt.Fprintf(a.stderr, "rouse: %s\n", text.Line(mend, 400))
				}
			}
			_ = a.printSkills(list)
			return err
		}))
	return c
}

func (a *app) printSkills(list []setup.Skill) error {
	return printList(a, list, "no skill is in this home; rouse skills add takes one from a folder or a repository", func(k setup.Skill) string {
		return fmt.Sprintf("%-24s  %-7s  %s", text.Line(k.Name, 64), k.State, text.Line(k.Description, 100))
	})
}

func (a *app) sayProblems(k setup.Skill) {
	for _, p := range k.Problems {
		fmt.Fprintf(a.stderr, "rouse: skill %s: %s\n", text.Line(k.Name, 64), text.Line(p, 400))
	}
}

// acceptedSkill shows what was accepted, with what a person should know of it.
func (a *app) acceptedSkill(k setup.Skill, err error) error {
	if err != nil {
		return err
	}
	a.sayProblems(k)
	return a.printSkills([]setup.Skill{k})
}
