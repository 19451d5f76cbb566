// Command rouse-fleet keeps homes of rouse in a Postgres, from where machines get them.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/checkout"
	"rouse/fleet/dev"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/text"
)

const help = `Keep homes of rouse in a Postgres, and get them onto machines from there. A home that was
pushed is woken nowhere until it is pulled, onto one machine at a time.

  rouse-fleet dev [DIR]                 run a Postgres for a try, until Ctrl-C
  rouse-fleet migrate                   make the store ready, or newer
  rouse-fleet doctor                    check that the store can be used from here
  rouse-fleet push DIR [--name NAME]    take a home into the fleet
  rouse-fleet pull NAME [DIR] [--take]  take it out, onto this machine
  rouse-fleet list                      list the homes and where each is
  rouse-fleet status NAME               say where a home is

What never leaves a machine: %s.

The store is --dsn, else $ROUSE_FLEET_DSN, else the one line of %s in the
user's folder of configuration. A try begins with rouse-fleet dev: it says its DSN.

Exit codes: 0, 1 failed, 2 usage or configuration, 75 the home is awake, 130 or 143 a signal.

%s`

// configFile has the DSN, in the user's folder of configuration.
const configFile = "rouse/fleet.dsn"

// Exit codes, as those of rouse.
const exitFailed, exitUsage, exitAwake, exitSignal = 1, 2, 75, 128

// app is what every verb has: its flags.
type app struct {
	dsn, name        string
	json, take, help bool
}

// usage is an error that the user mends by calling or configuring otherwise.
type usage struct{ error }

// bySignal ends a context.
type bySignal struct{ syscall.Signal }

func (s bySignal) Error() string { return s.String() }

func main() {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { end(bySignal{(<-signals).(syscall.Signal)}) }()
	err := new(app).run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "rouse-fleet: %s\n", text.Line(err.Error(), 4000))
	}
	os.Exit(exitCode(ctx, err))
}

func exitCode(ctx context.Context, err error) int {
	held := new(store.Held)
	switch s := (bySignal{}); {
	case err == nil:
		return 0
	case errors.As(context.Cause(ctx), &s):
		return exitSignal + int(s.Signal)
	case errors.Is(err, home.ErrAwake), errors.As(err, &held) && held.Until != nil:
		return exitAwake
	case errors.As(err, new(usage)), errors.As(err, new(*home.StateError)):
		return exitUsage
	}
	return exitFailed
}

// run runs one command line.
func (a *app) run(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("rouse-fleet", pflag.ContinueOnError)
	flags.StringVar(&a.dsn, "dsn", "", "the store: postgres://user@host/database?sslmode=verify-full")
	flags.StringVar(&a.name, "name", "", "push: the name in the fleet (default that of before, else of the folder)")
	flags.BoolVar(&a.take, "take", false, "pull: also from another machine, whose changes since then stay there")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	flags.BoolVarP(&a.help, "help", "h", false, "print this")
	if err := flags.Parse(args); err != nil {
		return usage{err}
	}
	args = append(flags.Args(), "help")
	if a.help || args[0] == "help" {
		fmt.Printf(help, strings.Join(home.Staying(), ", "), configFile, flags.FlagUsages())
		return nil
	}
	verb, args := args[0], args[1:len(args)-1]
	switch use := fmt.Sprintf("%s %d", verb, len(args)); use {
	case "push 1", "pull 1", "pull 2", "list 0", "status 1", "doctor 0":
		return a.in(ctx, func(s *store.Store) (any, string, error) { return a.verb(ctx, s, verb, args) })
	case "migrate 0":
		value, said, err := a.migrate(ctx)
		if err != nil {
			return err
		}
		return a.print(value, said)
	case "dev 0", "dev 1":
		return a.dev(ctx, args)
	}
	return usage{fmt.Errorf("%q is no verb, or has other arguments: see rouse-fleet --help", strings.Join(flags.Args(), " "))}
}

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

// in does something in a store that is ready, and prints what came of it.
func (a *app) in(ctx context.Context, do func(*store.Store) (value any, said string, err error)) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Ready(ctx); err != nil {
		return usage{err}
	}
	value, said, err := do(s)
	if err != nil {
		return err
	}
	return a.print(value, said)
}

func (a *app) print(value any, said string) error {
	if a.json {
		return json.NewEncoder(os.Stdout).Encode(value)
	}
	_, err := fmt.Println(said)
	return err
}

// verb is what a verb does in a store, and says of it.
func (a *app) verb(ctx context.Context, s *store.Store, verb string, args []string) (any, string, error) {
	switch verb {
	case "push":
		h, err := home.At(args[0])
		if err != nil {
			return nil, "", usage{err}
		}
		r, err := checkout.Push(ctx, s, h, a.name)
		said := fmt.Sprintf("%s is in the fleet, version %d: %s, %d bytes, of which %d were sent\nback by: rouse-fleet pull %[1]s %[6]s", r.Name, r.Version, text.Count(r.Files, "file"), r.Bytes, r.Sent, r.Dir)
		if len(r.Left) > 0 {
			said += "\nleft out: " + strings.Join(r.Left, ", ")
		}
		return r, said, err
	case "pull":
		r, err := checkout.Pull(ctx, s, args[0], append(args, args[0])[1], a.take)
		if r.Here {
			return r, fmt.Sprintf("%s is here, in %s: the fleet has nothing newer", r.Name, r.Dir), err
		}
		return r, fmt.Sprintf("%s, version %d, is in %s: %s, %d bytes\nnext: rouse --home %[3]s run", r.Name, r.Version, r.Dir, text.Count(r.Files, "file"), r.Bytes), err
	case "status":
		h, err := s.Home(ctx, args[0])
		if err != nil {
			err = fmt.Errorf("%s: %w", args[0], err)
		}
		return h, line(h), err
	}
	all, err := s.Homes(ctx)
	if verb == "list" {
		return all, cmp.Or(text.Join(all, "\n", line), "no homes yet: rouse-fleet push DIR"), err
	}
	_, where, _ := a.from()
	return map[string]any{"fleet": s.ID, "schema": s.Schema, "homes": len(all), "dsn_from": where},
		fmt.Sprintf("ok: the store of %s is fleet %s, schema %d, with %s", where, s.ID, s.Schema, text.Count(len(all), "home")), err
}

// line tells of a home where it is.
func line(h store.Home) string {
	where := "in the fleet"
	if h.Holder != "" {
		where = "at " + h.Holder
	}
	if h.Until != nil {
		where += ", lease until " + h.Until.Format(time.DateTime)
	}
	return fmt.Sprintf("%-20s version %-5d %s since %s", h.Name, h.Version, where, h.Changed.Format(time.DateTime))
}

func (a *app) migrate(ctx context.Context) (value any, said string, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	from, err := s.Migrate(ctx)
	return map[string]any{"fleet": s.ID, "from": from, "schema": s.Schema}, fmt.Sprintf("the store has schema %d, and had %d", s.Schema, from), err
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
	if _, _, err := a.migrate(ctx); err != nil {
		return err
	}
	if err := a.print(map[string]any{"dsn": server.DSN}, "export ROUSE_FLEET_DSN='"+server.DSN+"'"); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
