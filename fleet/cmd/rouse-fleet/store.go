package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"rouse/fleet/store"
)

// configFile has the DSN, in the user's folder of configuration.
const configFile = "rouse/fleet.dsn"

// from is the DSN, and where it stands.
func (a *app) from() (dsn, where string, err error) {
	if a.dsn != "" {
		return a.dsn, "--dsn", nil
	}
	if dsn = os.Getenv("ROUSE_FLEET_DSN"); dsn != "" {
		return dsn, "$ROUSE_FLEET_DSN", nil
	}
	dir, err := os.UserConfigDir()
	path := filepath.Join(dir, configFile)
	info, gone := os.Stat(path)
	if err = cmp.Or(err, gone); err != nil {
		return "", "", fmt.Errorf("no store is named: give --dsn, $ROUSE_FLEET_DSN or %s", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", "", fmt.Errorf("others can read %s, which may hold a password: chmod 600 it", path)
	}
	line, err := os.ReadFile(path)
	return strings.TrimSpace(string(line)), path, err
}

// open opens the store, whatever schema it has.
func (a *app) open(ctx context.Context) (*store.Store, error) {
	dsn, where, err := a.from()
	if err != nil {
		return nil, usage{err}
	}
	s, err := store.Open(ctx, dsn)
	if err != nil {
		return nil, usage{fmt.Errorf("the store of %s: %w", where, err)}
	}
	return s, nil
}

// in is a verb that does something in a store that is ready, and prints what came of it.
func (a *app) in(do func(context.Context, *store.Store, []string) (value any, said string, err error)) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		s, err := a.open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := s.Ready(ctx); err != nil {
			return usage{err}
		}
		value, said, err := do(ctx, s, args)
		if err != nil {
			return err
		}
		return a.print(value, said)
	}
}

func (a *app) print(value any, said string) error {
	if a.json {
		return json.NewEncoder(os.Stdout).Encode(value)
	}
	_, err := fmt.Println(said)
	return err
}

func (a *app) migrateVerb() verb {
	var s3 string
	return verb{
		use: "migrate", short: "make the store ready, or newer",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&s3, "s3", "", "large contents go to https://endpoint/bucket?region=R from now on, or off")
		},
		run: func(ctx context.Context, _ []string) error {
			value, said, err := a.migrate(ctx, s3)
			if err != nil {
				return err
			}
			return a.print(value, said)
		},
	}
}

func (a *app) migrate(ctx context.Context, s3 string) (value any, said string, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	from, err := s.Migrate(ctx)
	if err == nil && s3 != "" {
		err = s.SetBucket(ctx, s3)
	}
	return map[string]any{"fleet": s.ID, "from": from, "schema": s.Schema}, fmt.Sprintf("the store has schema %d, and had %d", s.Schema, from), err
}
