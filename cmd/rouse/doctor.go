package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/setup"
	"rouse/setup/doctor"
)

func (a *app) newDoctor() *cobra.Command {
	var unattended, inside, mend, probe, accept bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the home, the model, the tools, and what is enforced",
		Long: `Check everything that a cycle needs, and say what this system does not enforce. The model's
server is asked for its list of models, which costs nothing.

With --unattended it says what would fail tonight: it looks for what wakes the home, and does all
its checks once more in the environment that cron gives: no terminal, another folder, hardly any
variables.

With --model the configured model is asked for one call of the tool echo in each protocol, streamed
and not, and it says which works, how fast it answers, and how long its context is where the server
tells.

With --mend the home and what is private in it are closed to other users first (0700 and 0600); it
says what was changed. Links are not followed.

With --accept it first accepts what another hand may have changed since the last cycle, and what
cycles refuse until then: model.base_url in rouse.yaml. So are lines of journals that are not
proven: what they change is applied to the memory, but where that changed meanwhile. An
interrupted cycle is settled first, so no cycle may be awake then (75).

Exit codes: 0 all is well, 1 a check failed, 2 this is no home.`,
		Example: `  rouse doctor
  rouse doctor --unattended
  rouse doctor --model
  rouse doctor --mend`,
		RunE: in(a.openHome, func(h home.Home, _ []string) error {
			if accept {
				if err := a.accept(); err != nil {
					return err
				}
			}
			switch {
			case probe:
				return a.doctor(h, doctor.Doctor.Probe)
			case mend:
				return a.doctor(h, doctor.Doctor.Mend)
			case unattended:
				return a.doctor(h, doctor.Doctor.Tonight)
			case inside:
				return a.doctor(h, doctor.Doctor.Inside)
			}
			return a.doctor(h, doctor.Doctor.Examine)
		}),
	}
	c.Flags().BoolVar(&unattended, "unattended", false, "check what happens while nobody looks")
	c.Flags().BoolVar(&probe, "model", false, "ask the model for one call in each way, which costs four short requests")
	c.Flags().BoolVar(&mend, "mend", false, "close the home to other users of the machine")
	c.Flags().BoolVar(&inside, "inside", false, "check as the process that --unattended starts")
	_ = c.Flags().MarkHidden("inside")
	c.Flags().BoolVar(&accept, "accept", false, "accept what cycles refuse or do not apply because another hand may have changed it")
	return a.withJSON(c)
}

// accept accepts what cycles refuse and no other verb accepts.
func (a *app) accept() error {
	s, err := a.open()
	if err == nil {
		err = s.Home.Wakes()
	}
	if err != nil {
		return err
	}
	accepted, err := s.Accept()
	for _, text := range accepted {
		if !a.json {
			fmt.Fprintln(a.stdout, "accepted: "+text)
		}
	}
	return err
}

func (a *app) doctor(h home.Home, examine func(doctor.Doctor, home.Home) []setup.Check) error {
	checks := examine(doctor.Doctor{Process: a.process(), Hidden: a.hidden}, h)
	out := terminal(a.stdout)
	err := printList(a, checks, "", func(c setup.Check) string { return checkText(c, out) })
	if slices.ContainsFunc(checks, func(c setup.Check) bool { return !c.OK }) {
		err = errors.Join(err, &coded{exitFailed, nil})
	}
	return err
}

// checkText is a check in words, with its hint in a line of its own.
func checkText(c setup.Check, out screen) string {
	mark := out.paint(green, "ok  ")
	if !c.OK {
		mark = out.paint(red, "FAIL")
	}
	text := fmt.Sprintf("%s  %-13s  %s", mark, c.Check, c.Found)
	if c.Hint != "" {
		text += fmt.Sprintf("\n      %-13s  %s", "", c.Hint)
	}
	return text
}
