package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/dev"
	"rouse/fleet/store"
	"rouse/internal/clock"
)

func (a *app) devVerb() verb {
	storeOnly := false
	return verb{
		use: "dev [DIR]", short: "run a Postgres, a Temporal and a worker for a try, until Ctrl-C",
		long: "Temporal's server is temporal in PATH, else it is built once by the go command, which takes minutes.\n",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&storeOnly, "store-only", false, "the Postgres alone: nothing is woken")
		},
		run: func(ctx context.Context, args []string) error {
			return a.dev(ctx, append(args, dataDir(""))[0], storeOnly)
		},
	}
}

// dev runs a fleet in a folder, until a signal comes.
func (a *app) dev(ctx context.Context, dir string, storeOnly bool) error {
	if !storeOnly {
		if err := dev.BuildTemporal(ctx, func(line string) { fmt.Fprintln(os.Stderr, line) }); err != nil {
			return err
		}
	}
	server, err := dev.Start(ctx, dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	a.dsn = server.DSN
	if _, _, err := a.migrate(ctx, ""); err != nil {
		return err
	}
	export := "export ROUSE_FLEET_DSN='" + server.DSN + "'"
	if storeOnly {
		if err := a.print(map[string]any{"dsn": server.DSN}, export); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	temporal, err := dev.StartTemporal(ctx, filepath.Join(dir, "temporal"))
	if err != nil {
		return err
	}
	defer temporal.Stop()
	if err := a.print(map[string]any{"dsn": server.DSN, "temporal": temporal.Address}, export+"\nexport ROUSE_FLEET_TEMPORAL_ADDRESS="+temporal.Address); err != nil {
		return err
	}
	healthy(ctx, temporal.Address)
	s, err := store.Open(ctx, server.DSN)
	if err != nil {
		return err
	}
	defer s.Close()
	w := &working{temporal: temporal.Address, namespace: "default", name: "dev", dir: filepath.Join(dir, "worker"), keys: filepath.Join(dir, "keys"), hides: []string{dir}, homes: 2}
	if err := os.MkdirAll(w.keys, 0o700); err != nil {
		return err
	}
	return w.run(ctx, s)
}

// healthy waits until Temporal takes requests, which is later than its port does, a minute at most.
func healthy(ctx context.Context, address string) {
	for began := time.Now(); time.Since(began) < time.Minute && clock.Pause(ctx, 50*time.Millisecond); {
		if reach(ctx, address, "") == nil {
			return
		}
	}
}
