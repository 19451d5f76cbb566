package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newAllow() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "allow [host|read|write WHAT]",
		Short: "Let tools at a host, a file or a folder",
		Long: `Add a line to the lists of the sandbox in rouse.yaml, where comments and all else stay; it
holds from the next cycle on. A host is a name, *.a.example for all below one, and
a.example:8443 for a port beside 80 and 443; a relative path is from the current folder.
Without arguments, list what is allowed. What tools may reach at all is told in docs/sandbox.md.

Exit codes: 0, also where it was allowed already, 1 if rouse.yaml cannot be written, 2 usage or
configuration, or where nothing is walled off.`,
		Example: "  rouse allow host pypi.org\n  rouse allow write /srv/reports",
		Args:    allowArgs,
		RunE:    in(a.open, a.allow),
	})
}

// allowKinds are what can be allowed.
var allowKinds = []string{"host", "read", "write"}

func allowArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 2 && slices.Contains(allowKinds, args[0]) {
		return nil
	}
	return fmt.Errorf("it is used as: %s", c.UseLine())
}

func (a *app) allow(s *setup.Setup, args []string) error {
	if len(args) == 0 {
		list, why := s.Allowed()
		return printList(a, list, why, func(e setup.Allowed) string { return fmt.Sprintf("%-8s %s", e.Kind, text.Line(e.What, maxMessage)) })
	}
	got, changed, err := s.Allow(args[0], args[1])
	if err != nil {
		return usage(fmt.Errorf("allow %s: %w", args[0], err))
	}
	if got.Added {
		if err := s.WriteConfig(changed); err != nil {
			return fmt.Errorf("write rouse.yaml: %w", err)
		}
	}
	if a.json {
		return a.printJSON([]setup.Allowance{got})
	}
	fmt.Fprintln(a.stdout, got)
	return nil
}
