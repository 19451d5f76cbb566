package main

import (
	"cmp"
	"errors"
	"fmt"
	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
	"rouse/setup/install"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a home for an agent",
		Long: `Make a home in DIR (default: $ROUSE_HOME, else the current folder): rules.md, rouse.yaml, scratchpad with a
first task, logs, bin, closed to other users of the machine. Its tools are walled in as far as this machine can;
rouse.yaml says what it cannot. What is there already is left as it is.

Exit codes: 0 done, 1 a file could not be written, 2 usage.`,
		Example: "  rouse init my-agent",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.init(strings.Join(args, ""))
		},
	}
}

func (a *app) init(dir string) error {
	dir = cmp.Or(dir, a.home, a.getenv("ROUSE_HOME"), ".")
	if _, err := (home.Home{Dir: dir}).Version(); errors.As(err, new(*home.StateError)) {
		return err
	}
	made, err := setup.WriteTemplate(dir, a.process())
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if len(made) == 0 {
		fmt.Fprintf(a.stdout, "%s is a home already; nothing was changed\n", text.Line(dir, maxMessage))
		return nil
	}
	fmt.Fprintf(a.stdout, "made %s: %s\n", text.Line(dir, maxMessage), strings.Join(made, ", "))
	fmt.Fprintf(a.stdout, "next: cd %s && rouse run\n", text.Line(install.Quoted(dir), maxMessage))
	return nil
}
