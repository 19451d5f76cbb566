package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
	"rouse/setup/install"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) newInit() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a home for an agent",
		Long: `Make a home in DIR (default: $ROUSE_HOME, else the current folder): rules.md, rouse.yaml, scratchpad with a
first task, logs, bin, closed to other users of the machine. Its tools are walled in as far as this machine can;
rouse.yaml says what it cannot. What is there already is left as it is.

With --from it is a home that does something: its README.md says what, and what to change in rouse.yaml first.
--from list names them.

Exit codes: 0 done, 1 a file could not be written, 2 usage.`,
		Example: `  rouse init my-agent
  rouse init --from log-watch my-logs`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if from == "list" {
				fmt.Fprintln(a.stdout, strings.Join(setup.Examples(), "\n"))
				return nil
			}
			return a.init(strings.Join(args, ""), from)
		},
	}
	c.Flags().StringVar(&from, "from", "", "a worked home to begin with, or list")
	return c
}

func (a *app) init(dir, from string) error {
	dir = cmp.Or(dir, a.home, a.getenv("ROUSE_HOME"), ".")
	if _, err := (home.Home{Dir: dir}).Version(); errors.As(err, new(*home.StateError)) {
		return err
	}
	var example fs.FS
	next := "rouse run"
	if from != "" {
		var err error
		if example, err = setup.Example(from); err == nil {
			err = setup.Fits(dir, example)
		}
		if err != nil {
			return usage(err)
		}
		next = "less README.md"
	}
	made, kept, err := setup.WriteTemplate(dir, example, a.process())
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if len(made) == 0 {
		fmt.Fprintf(a.stdout, "%s is a home already; nothing was changed\n", text.Line(dir, maxMessage))
		return nil
	}
	fmt.Fprintf(a.stdout, "made %s: %s\n", text.Line(dir, maxMessage), strings.Join(made, ", "))
	if len(kept) > 0 {
		fmt.Fprintf(a.stdout, "left as it was: %s; the example's are not there\n", strings.Join(kept, ", "))
	}
	fmt.Fprintf(a.stdout, "next: cd %s && %s\n", text.Line(install.Quoted(dir), maxMessage), next)
	return nil
}
