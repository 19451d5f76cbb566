package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"rouse/agent/notify"
	"rouse/fleet/daemon"
	"rouse/fleet/flow"
	"rouse/fleet/store"
	"rouse/fleet/worker"
	"rouse/internal/proc"
)

// working is what the verb worker is told.
type working struct {
	temporal, namespace, name, dir, rouse, keys, listen string
	labels, hides                                       []string
	homes                                               int
	walled                                              bool
}

func (a *app) workerVerb() verb {
	w := new(working)
	return verb{
		use: "worker", short: "wake the homes of the fleet on this machine, until SIGTERM",
		long: `It takes no more homes after SIGINT, SIGTERM or rouse-fleet drain, and ends when none is awake; a second
signal ends the cycles that are. Temporal is --temporal, else $ROUSE_FLEET_TEMPORAL_ADDRESS, else $TEMPORAL_ADDRESS, else
127.0.0.1:7233; off loopback always with TLS, certificates and keys as in Temporal's own variables (TEMPORAL_TLS_…, TEMPORAL_API_KEY).
$ROUSE_FLEET_HEARTBEAT is a URL that is told each minute how the worker and the homes are, or a file that is written where all is well.
`,
		flags: func(f *pflag.FlagSet) {
			host, _ := os.Hostname()
			f.StringVar(&w.temporal, "temporal", os.Getenv(temporalVariable), "host:port of Temporal")
			f.StringVar(&w.namespace, "namespace", "", "namespace of Temporal (default $TEMPORAL_NAMESPACE, else default)")
			f.StringVar(&w.name, "name", host, "name of this worker, which no other one has")
			f.StringVar(&w.dir, "dir", dataDir("worker"), "folder for checkouts; what is lost with it is fetched again")
			f.StringVar(&w.rouse, "rouse", "", "the program rouse (default the one beside this program, else the one in PATH)")
			f.StringVar(&w.keys, "keys", "", "folder with the .env, vault.age and vault.key of all homes, and in folders by their names those of one")
			f.StringSliceVar(&w.labels, "labels", nil, "what homes may need: gpu,eu (at most 4)")
			f.IntVar(&w.homes, "homes", 4, "so many homes are awake at once")
			f.BoolVar(&w.walled, "require-sandbox", false, "wake no home whose tools would have no walls: one without posture, or with sandbox.mode off")
			f.StringVar(&w.listen, "listen", "", "host:port for /healthz and /metrics, such as 127.0.0.1:9470")
		},
		run: func(ctx context.Context, _ []string) error {
			s, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.Ready(ctx); err != nil {
				return usage{err}
			}
			return w.run(ctx, s)
		},
	}
}

// dataDir is where this user's part of a fleet is on this machine.
func dataDir(part string) string {
	dir := "/var/lib/rouse-fleet"
	if user, err := os.UserHomeDir(); err == nil && os.Getuid() != 0 {
		dir = filepath.Join(user, ".local/share/rouse-fleet")
	}
	return filepath.Join(dir, part)
}

// check finds what would only show later.
func (w *working) check() (err error) {
	for _, word := range append([]string{w.name}, w.labels...) {
		if !regexp.MustCompile(`^[\w.-]{1,63}$`).MatchString(word) {
			return fmt.Errorf("%q is no name for a worker or a label: letters, digits, ., - and _", word)
		}
	}
	if len(w.labels) > flow.MaxLabels || w.homes < 1 {
		return fmt.Errorf("a worker has at most %d labels, and at least one home awake", flow.MaxLabels)
	}
	if err := readable(&w.keys); err != nil {
		return err
	}
	if w.rouse == "" {
		self, _ := os.Executable()
		w.rouse = filepath.Join(filepath.Dir(self), "rouse")
		if _, err := os.Stat(w.rouse); errors.Is(err, fs.ErrNotExist) {
			if w.rouse, err = proc.LookPath("rouse", os.Getenv("PATH")); err != nil {
				return errors.New("there is no rouse beside this program or in PATH: install it, or name it by --rouse")
			}
		}
	}
	if _, err := os.Stat(w.rouse); err != nil {
		return fmt.Errorf("--rouse: %w", err)
	}
	if w.rouse, err = filepath.Abs(w.rouse); err != nil { // it is started elsewhere
		return err
	}
	for i, dir := range w.hides {
		w.hides[i], _ = filepath.Abs(dir)
	}
	if w.dir, err = filepath.Abs(w.dir); err == nil {
		err = os.MkdirAll(w.dir, 0o700)
	}
	return err
}

// readable looks at the folder of --keys, where there is one.
func readable(keys *string) error {
	if *keys == "" {
		return nil
	}
	_, err := os.ReadDir(*keys)
	if err != nil {
		return fmt.Errorf("--keys: %w", err)
	}
	*keys, err = filepath.Abs(*keys)
	return err
}

// waker is a [worker.Worker] for package flow, which does not know it.
type waker struct{ *worker.Worker }

func (w waker) Wake(ctx context.Context, home string) (flow.Next, error) {
	next, err := w.Worker.Wake(ctx, home)
	return flow.Next(next), err
}

// run works until a signal comes, and another one if a home is awake then.
func (w *working) run(ctx context.Context, s *store.Store) error {
	if err := w.check(); err != nil {
		return usage{err}
	}
	say := func(line string) {
		fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.DateTime), line)
	}
	t, err := flow.Open(w.temporal, w.namespace, s.ID, say)
	if err != nil {
		return usage{err}
	}
	defer t.Close()
	program := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		program = info.Main.Version
	}
	wakes := &worker.Worker{Store: s, Name: w.name, Labels: append(slices.Clone(w.labels), store.OnWorker(w.name)), Dir: w.dir, Rouse: w.rouse, Keys: w.keys, Hides: w.hides, Walled: w.walled, Log: say}
	d := &daemon.Daemon{
		Store: s, Temporal: t, Homes: w.homes, Say: say, Heartbeat: notify.Heartbeat{Target: os.Getenv("ROUSE_FLEET_HEARTBEAT")},
		Shown: store.Worker{Name: w.name, Labels: w.labels, Program: program, Listen: w.listen},
		Waker: waker{wakes},
	}
	if err := d.Alone(ctx, 0); err != nil {
		return usage{err}
	}
	if risks, err := s.Risks(ctx); err == nil && len(risks) > 0 {
		say("the fleet's Postgres may forget what it committed: " + strings.Join(risks, "; "))
	}
	say(fmt.Sprintf("worker %s of fleet %s: %d homes at once, labels %s, checkouts in %s, Temporal at %s", w.name, s.ID, w.homes, cmp.Or(strings.Join(w.labels, ","), "none"), w.dir, t.Address))
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	go func() {
		<-ctx.Done()
		second := make(chan os.Signal, 1)
		signal.Notify(second, syscall.SIGINT, syscall.SIGTERM)
		say("takes no more homes, and ends when none is awake; a second signal ends their cycles")
		<-second
		kill()
	}()
	watching, end := context.WithCancel(context.WithoutCancel(ctx)) // what changes while it drains is for the next worker
	defer end()
	go wakes.Watch(watching)
	return d.Run(ctx, life)
}
