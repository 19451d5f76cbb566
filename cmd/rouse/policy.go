package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"rouse/internal/text"
	"rouse/scratchpad/origin"
	"rouse/setup"
)

func (a *app) newPolicy() *cobra.Command {
	since := ""
	c := a.withJSON(&cobra.Command{
		Use:   "policy",
		Short: "Say which calls are allowed, asked or denied",
		Long: `List what calls may meet, by tool: what the tool can change, and what may decide, the first
that fits: the rules of policy: in rouse.yaml, then the default of the posture. With --since
list the calls of the past that would be asked or denied now. docs/policy.md tells of rules.

Exit codes: 0, 1 if a journal cannot be read, 2 usage or configuration.`,
		Example: "  rouse policy\n  rouse policy --since 7d",
		RunE:    in(a.open, func(s *setup.Setup, _ []string) error { return a.policy(s, since) }),
	})
	c.Flags().StringVar(&since, "since", "", "try the calls since then: 36h, 7d, 2026-04-01 or a cycle")
	c.AddCommand(a.newPolicyTest())
	return c
}

func (a *app) policy(s *setup.Setup, since string) error {
	if since != "" {
		ids, err := a.replayed(s, nil, since)
		if err != nil {
			return err
		}
		list, err := s.Past(ids)
		return cmp.Or(err, printList(a, list, "no call since then would be asked or denied", ruled))
	}
	list, err := s.Rulings()
	if err != nil {
		return usage(err)
	}
	if !a.json {
		fmt.Fprintln(a.stdout, s.PostureWords())
	}
	tool := ""
	err = printList(a, list, "", func(r setup.Ruling) string {
		if r.Rule == "" && r.Tool == tool {
			r.Why = "else"
		}
		tool = r.Tool
		return fmt.Sprintf("%-15s  %-9s  %s", r.Tool, r.Effect, ruled(r))
	})
	if why := s.Asks(); why != nil && !a.json {
		fmt.Fprintln(a.stdout, text.Line(why.Error(), maxMessage))
	}
	return err
}

func ruled(r setup.Ruling) string {
	said := fmt.Sprintf("%-5s  %-9s  %s", r.Do, cmp.Or(r.Rule, "-"), text.Line(r.Why, maxMessage))
	if r.Cycle == "" {
		return said
	}
	return fmt.Sprintf("%s  step %-3d  %s(%s)  %s", r.Cycle, r.Step, r.Tool, text.Line(r.Args, 200), said)
}

func (a *app) newPolicyTest() *cobra.Command {
	var from []string
	private := false
	c := a.withJSON(&cobra.Command{
		Use:     "test TOOL [ARGS]",
		Short:   "Say what would become of a call",
		Long:    "Say what would become of a call now, and by which rule. Its arguments are a JSON object, or - for one on the standard input.",
		Example: `  rouse policy test shell '{"command": "git push"}'` + "\n" + `  rouse policy test mail__send '{}' --origin "http_get example.com" --private`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: in(a.open, func(s *setup.Setup, args []string) error {
			if private {
				from = append(from, origin.Private)
			}
			return a.policyTest(s, args[0], append(args, "{}")[1], from)
		}),
	})
	c.Flags().StringArrayVar(&from, "origin", nil, "after a text from there, such as \"http_get example.com\"; more than one may be given")
	c.Flags().BoolVar(&private, "private", false, "after something private was read")
	return c
}

func (a *app) policyTest(s *setup.Setup, tool, args string, from []string) (err error) {
	text := []byte(args)
	if args == "-" {
		text, err = io.ReadAll(os.Stdin)
	}
	r, failed := s.Rule(tool, json.RawMessage(text), from)
	if err = cmp.Or(err, failed); err != nil {
		return usage(fmt.Errorf("policy test: %w", err))
	}
	return printList(a, []setup.Ruling{r}, "", ruled)
}
