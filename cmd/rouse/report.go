package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rouse/agent/search"
	"rouse/setup"
	"rouse/setup/report"
)

func (a *app) newReport() *cobra.Command {
	var since string
	var page bool
	c := &cobra.Command{
		Use:   "report [HOME|FOLDER]...",
		Short: "Show on one page what happened while nobody looked",
		Long: `Show what was due and ran, what is proven, what it cost beside what is usual, what changed in memory
and files over all of the time, which hosts were reached and what was refused, what the model
said, what is not as it should be with the command that mends it, and what is due next. No
model is asked. A folder stands for the homes directly in it.

Exit codes: 0, 1 if something cannot be read, as the configuration of a home, 2 usage or configuration.`,
		Example: `  rouse report
  rouse report --since last
  rouse report ~/agents --since 7d --json
  rouse report ~/agents --html >night.html`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, since, page) },
	}
	c.Flags().StringVar(&since, "since", "24h", "from then on: 24h, 7d, 2026-04-01, a cycle, or last, when a person last looked")
	c.Flags().BoolVar(&page, "html", false, "print one HTML document, which needs nothing else")
	return a.withJSON(c)
}

func (a *app) report(dirs []string, since string, page bool) error {
	if page && a.json {
		return usage(errors.New("--html and --json exclude each other"))
	}
	homes, err := a.reported(dirs)
	if err != nil && len(homes) == 0 {
		return usage(err)
	}
	list, failed := report.Of(homes, since)
	if wrong := (*search.QueryError)(nil); errors.As(failed, &wrong) {
		return usage(fmt.Errorf("--%w", wrong))
	}
	if page {
		return cmp.Or(report.HTML(a.stdout, list), err, failed, report.Unread(list))
	}
	if a.json {
		return cmp.Or(a.printJSON(list), err, failed, report.Unread(list))
	}
	out := terminal(a.stdout)
	colors := map[string]string{report.Good: green, report.Bad: red, report.Warn: yellow, report.Faint: dim, report.Head: bold}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		r.Text(a.stdout, func(tone, text string) string { return out.paint(colors[tone], text) })
	}
	if out.isTerminal {
		for _, s := range homes {
			setup.Looked(s.Home, a.now())
		}
	}
	return cmp.Or(err, failed, report.Unread(list))
}

// reported are the homes that are meant, this one where none is named. One whose configuration
// is wrong is reported, too.
func (a *app) reported(dirs []string) ([]*setup.Setup, error) {
	if len(dirs) > 0 {
		return report.Homes(dirs, a.process().Alone())
	}
	h, err := a.openHome()
	if err != nil {
		return nil, err
	}
	a.setup, _ = setup.Look(h, a.process()) // the report has it among its problems
	return []*setup.Setup{a.setup}, nil
}
