package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/page"
)

func (a *app) newMetrics() *cobra.Command {
	return &cobra.Command{
		Use:   "metrics [HOME|FOLDER]...",
		Short: "Print figures of homes as Prometheus reads them",
		Long: `Print figures of the home, or of several, as Prometheus reads them: cycles by verdict, tokens, money, calls,
refusals and slots. A folder stands for the homes directly in it. Counts begin anew each day;
rouse serve has the same at /metrics. docs/telemetry.md lists them.

Exit codes: 0, 1 if a home's figures cannot be read, 2 usage or configuration.`,
		Example: "  rouse metrics\n  rouse metrics ~/agents >/var/lib/node_exporter/textfile/rouse.prom",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				h, err := a.openHome()
				if err != nil {
					return err
				}
				args = []string{h.Dir}
			}
			return a.metrics(args)
		},
	}
}

func (a *app) metrics(folders []string) error {
	found, err := home.Find(folders...)
	if err != nil || len(found) == 0 {
		return usage(fmt.Errorf("metrics: no home in %s: none has rules.md", folders[0]))
	}
	text, err := page.New(page.Options{Dirs: folders, Now: a.now, Open: a.openAlone}).Metrics()
	fmt.Fprintf(a.stdout, "%s", text)
	if err != nil {
		err = fmt.Errorf("metrics: %w", err)
	}
	return err
}
