package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rouse/agent/config"
	"rouse/home"
	"rouse/page"
	"rouse/setup"
)

func (a *app) newServe() *cobra.Command {
	var o config.Serve
	c := &cobra.Command{
		Use:   "serve [HOME|FOLDER]...",
		Short: "Show homes in a browser",
		Long: `Show in a browser what homes did, what it cost and changed and what waits, with buttons to
answer. A folder stands for the homes directly in it. It prints a link that logs a browser in
once. Only this machine can ask it, unless a proxy that does TLS stands before it: then
tokens in $ROUSE_PAGE_TOKEN (act) and $ROUSE_PAGE_VIEW_TOKEN (look) let people in. See docs/page.md.

Exit codes: 0, 1 if it cannot listen, 2 usage or configuration, 130 or 143 a signal ended it.`,
		Example: `  rouse serve
  rouse serve ~/agents
  rouse serve ~/agents --listen 127.0.0.1:8080 --behind-proxy rouse.example.com`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			set, err := a.served(c, o, args)
			if err != nil {
				return usage(err)
			}
			ctx, stop := untilSignal()
			defer stop()
			if err := a.serve(ctx, set, args); err != nil {
				return err
			}
			return ended(ctx)
		},
	}
	c.Flags().StringVar(&o.Listen, "listen", "", "address and port (default that of serve.listen, 127.0.0.1:7373)")
	c.Flags().StringVar(&o.BehindProxy, "behind-proxy", "", "name under which a proxy that does TLS shows it")
	return c
}

// served are the settings: those of the one home that is meant, where no other is named, and the flags.
func (a *app) served(c *cobra.Command, flags config.Serve, dirs []string) (config.Serve, error) {
	set := config.Default().Serve
	if len(dirs) == 0 {
		s, err := a.open()
		if err != nil {
			return set, err
		}
		set = s.Config.Serve
	}
	if c.Flags().Changed("listen") {
		set.Listen = flags.Listen
	}
	if c.Flags().Changed("behind-proxy") {
		set.BehindProxy = flags.BehindProxy
	}
	return set, set.Check(a.getenv)
}

// serve shows homes until ctx ends.
func (a *app) serve(ctx context.Context, set config.Serve, dirs []string) error {
	if len(dirs) == 0 {
		dirs = []string{a.setup.Home.Dir}
	}
	found, err := home.Find(dirs...)
	if err != nil || len(found) == 0 {
		return usage(fmt.Errorf("no home in %s: none has rules.md", dirs[0]))
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return page.Run(ctx, page.Options{
		Dirs: dirs, Program: program, Now: a.now, Open: a.openAlone,
		Say: func(line string) { fmt.Fprintln(a.stdout, line) },
	}, set, a.getenv)
}

// openAlone opens the home in a folder with what its own .env says.
func (a *app) openAlone(dir string) (*setup.Setup, error) {
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	return setup.Open(h, a.process().Alone().In(h))
}
