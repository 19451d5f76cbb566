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
	add := a.withJSON(&cobra.Command{
		Use:   "add FOLDER|ADDRESS[#REF][//FOLDER]",
		Short: "Copy a skill into the home and accept it; git fetches one from an address. You vouch for it: read it",
		Example: `  rouse skills add ~/.claude/skills/pdf
  rouse skills add https://github.com/anthropics/skills#main//skills/pdf`,
		Args: cobra.ExactArgs(1),
		RunE: in(a.open, func(home *setup.Setup, args []string) error {
			ctx, stop := untilSignal()
			defer stop()
			return a.acceptedSkill(home.AddSkill(ctx, args[0]))
		}),
	})
	accept := a.withJSON(&cobra.Command{
		Use: "accept NAME", Short: "Accept a skill as it is now, or forget one that is gone", Args: cobra.ExactArgs(1),
		RunE: in(a.open, func(home *setup.Setup, args []string) error { return a.acceptedSkill(home.AcceptSkill(args[0])) }),
	})
	list := a.withJSON(&cobra.Command{
		Use: "list", Short: "List the skills: on, or off because they are new, changed, gone or broken",
		RunE: in(a.open, func(home *setup.Setup, _ []string) error { return a.printSkills(home.Skills()) }),
	})
	check := a.withJSON(&cobra.Command{
		Use: "check", Short: "Check the skills: the format, what is hidden from people, what was accepted",
		RunE: in(a.open, func(home *setup.Setup, _ []string) error { return a.checkSkills(home.Skills()) }),
	})
	c.AddCommand(list, add, check, accept)
	return c
}

func (a *app) printSkills(list []setup.Skill) error {
	return printList(a, list, "no skill is in this home; rouse skills add takes one from a folder or a repository", func(k setup.Skill) string {
		return fmt.Sprintf("%-24s  %-7s  %s", text.Line(k.Name, 64), k.State, text.Line(k.Description, 100))
	})
}

func (a *app) checkSkills(list []setup.Skill) error {
	wrong := false
	for _, k := range list {
		wrong = wrong || k.State != setup.SkillOn || len(k.Problems) > 0
		a.sayProblems(k)
	}
	if err := a.printSkills(list); err != nil || !wrong {
		return err
	}
	return &coded{exitFailed, nil}
}

func (a *app) sayProblems(k setup.Skill) {
	for _, p := range k.Problems {
		fmt.Fprintf(a.stderr, "rouse: skill %s: %s\n", text.Line(k.Name, 64), text.Line(p, 400))
	}
}

// acceptedSkill shows what was accepted, with what a person should know of it.
func (a *app) acceptedSkill(k setup.Skill, err error) error {
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON([]setup.Skill{k})
	case k.State == setup.SkillGone:
		fmt.Fprintf(a.stdout, "forgotten: %s\n", text.Line(k.Name, 64))
		return nil
	}
	a.sayProblems(k)
	fmt.Fprintf(a.stdout, "accepted: %s, %s, %d bytes, in %s\n%s\n", k.Name, text.Count(k.Files, "file"), k.Bytes, k.Folder, text.Line(k.Description, 1024))
	return nil
}
