package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rouse"
	"rouse/agent/config"
	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check rouse.yaml, say what holds, and tell editors its form",
		Long: `Check rouse.yaml, say what holds in this home and why, and tell editors the form of its files.
The rouse.yaml that rouse init writes shows all keys; docs/configuration.md tells of these verbs.

Exit codes: 0, 2 usage, or something in the file cannot be meant.`,
	}
	c.AddCommand(a.newConfigCheck(), a.newConfigShow(), a.newConfigSchema())
	return c
}

func (a *app) newConfigCheck() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what cannot be meant in a rouse.yaml",
		Long: `Say what cannot be meant in the home's rouse.yaml, or in FILE as if it were that: file, line, column, and
what mends it. It goes on after the first problem; a part that another one depends on is to be mended first.`,
		Args: cobra.MaximumNArgs(1),
		RunE: in(a.openWhole, func(h home.Home, args []string) error {
			file := h.Config()
			if len(args) > 0 {
				file = args[0]
			}
			return a.configCheck(h, file, h.Rel(file))
		}),
	})
}

func (a *app) configCheck(h home.Home, file, name string) error {
	list, err := setup.CheckConfig(h, a.process(), file)
	if err != nil {
		return usage(err)
	}
	name = text.Line(name, maxMessage)
	err = printList(a, list, name+": nothing wrong", func(p config.Problem) string {
		if p.Line == 0 {
			return name + ": " + a.said(errors.New(p.Problem))
		}
		return fmt.Sprintf("%s:%d:%d: %s", name, p.Line, p.Column, a.said(errors.New(p.Problem)))
	})
	if err == nil && len(list) > 0 {
		err = &coded{exitUsage, nil}
	}
	return err
}

func (a *app) newConfigShow() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "show [KEY]",
		Short: "Say what holds, and where it comes from",
		Long: `Say each value that holds in this home, or those of KEY and below it, and where it comes from: a line of
rouse.yaml, a variable of the environment or of .env, the posture, or else it is the default. Secrets are hidden.`,
		Example: "  rouse config show\n  rouse config show sandbox --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: in(a.open, func(s *setup.Setup, args []string) error {
			list := s.Shown(append(args, "")[0])
			if len(list) == 0 {
				return usage(fmt.Errorf("config show: there is no key %q%s", args[0], s.MeantKey(args[0])))
			}
			return printList(a, list, "", func(v config.Value) string {
				return fmt.Sprintf("%-28s  %-30s  %s", v.Key, text.Line(string(v.Value), maxMessage), v.From)
			})
		}),
	})
}

func (a *app) newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rouse.yaml",
		Long: `Print the JSON Schema of rouse.yaml; its definitions approvals and check are those of approvals.yaml and of a
check. Editors look for it where the first line of a new rouse.yaml says: put it there after an upgrade.`,
		Example: "  rouse config schema >rouse.schema.json",
		RunE: func(*cobra.Command, []string) error {
			data, err := rouse.Template.ReadFile("rouse.schema.json")
			fmt.Fprintf(a.stdout, "%s", data)
			return err
		},
	}
}
