package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/setup"
	"rouse/setup/doctor"
)

func (a *app) newDoctor() *cobra.Command {
	var asJSON, unattended, inside, mend, accept bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the home, the model, the tools, and what is enforced",
		Long: `Check everything that a cycle needs, and say what this system does not enforce. The model's
server is asked for its list of models, which costs nothing.

With --unattended it says what would fail tonight: it looks for what wakes the home, and does all
its checks once more in the environment that cron gives: no terminal, another folder, hardly any
variables.

With --mend the home and what is private in it are closed to other users first (0700 and 0600); it
says what was changed. Links are not followed.

With --accept it first accepts what another hand may have changed since the last cycle, and what
cycles refuse until then: model.base_url in rouse.yaml.

Exit codes: 0 all is well, 1 a check failed, 2 this is no home.`,
		Example: `  rouse doctor
  rouse doctor --unattended
  rouse doctor --mend`,
		Args: strict(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if accept {
				if err := a.accept(asJSON); err != nil {
					return err
				}
			}
			switch {
			case mend:
				return a.doctor(doctor.Doctor.Mend, asJSON)
			case unattended:
				return a.doctor(doctor.Doctor.Tonight, asJSON)
			case inside:
				return a.doctor(doctor.Doctor.Inside, asJSON)
			}
			return a.doctor(doctor.Doctor.Examine, asJSON)
		},
	}
	c.Flags().BoolVar(&unattended, "unattended", false, "check what happens while nobody looks")
	c.Flags().BoolVar(&mend, "mend", false, "close the home to other users of the machine")
	c.Flags().BoolVar(&inside, "inside", false, "check as the process that --unattended starts")
	_ = c.Flags().MarkHidden("inside")
	c.Flags().BoolVar(&accept, "accept", false, "accept what cycles refuse because another hand may have changed it")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// accept accepts what cycles refuse and no other verb accepts.
func (a *app) accept(quiet bool) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	accepted, err := s.Accept()
	for _, text := range accepted {
		if !quiet {
			fmt.Fprintln(a.stdout, "accepted: "+text)
		}
	}
	return err
}

func (a *app) doctor(examine func(doctor.Doctor, home.Home) []setup.Check, asJSON bool) error {
	h, err := a.openHome()
	if err != nil {
		return err
	}
	checks := examine(doctor.Doctor{Process: a.process(), Hidden: a.hidden}, h)
	if asJSON {
		err = a.printJSON(checks)
	} else {
		a.printChecks(checks)
	}
	for _, c := range checks {
		if !c.OK {
			return errors.Join(err, &coded{exitFailed, nil})
		}
	}
	return err
}

func (a *app) printChecks(checks []setup.Check) {
	out := terminal(a.stdout)
	for _, c := range checks {
		mark := out.paint(green, "ok  ")
		if !c.OK {
			mark = out.paint(red, "FAIL")
		}
		fmt.Fprintf(a.stdout, "%s  %-13s  %s\n", mark, c.Check, c.Found)
		if c.Hint != "" {
			fmt.Fprintf(a.stdout, "      %-13s  %s\n", "", c.Hint)
		}
	}
}
