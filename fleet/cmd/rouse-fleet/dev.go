package main

import (
	"context"
	"os"
	"path/filepath"

	"rouse/fleet/dev"
)

func (a *app) devVerb() verb {
	return verb{use: "dev [DIR]", short: "run a Postgres for a try, until Ctrl-C", run: a.dev}
}

// dev runs a Postgres that is ready, until a signal comes.
func (a *app) dev(ctx context.Context, args []string) error {
	dir := "/var/lib/rouse-fleet"
	if user, err := os.UserHomeDir(); err == nil && os.Getuid() != 0 {
		dir = filepath.Join(user, ".local/share/rouse-fleet")
	}
	server, err := dev.Start(ctx, append(args, dir)[0])
	if err != nil {
		return err
	}
	defer server.Stop()
	a.dsn = server.DSN
	if _, _, err := a.migrate(ctx, ""); err != nil {
		return err
	}
	if err := a.print(map[string]any{"dsn": server.DSN}, "export ROUSE_FLEET_DSN='"+server.DSN+"'"); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
