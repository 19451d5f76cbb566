// Command rouse-fleet keeps homes of rouse in a Postgres, from where machines get them.
//
// main.go maps errors to exit codes, verb.go finds the verb of a command line, store.go
// opens the store, and each verb has a file, or a part of one, that [app.verbs] names.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
)

// Exit codes, as those of rouse.
const exitFailed, exitUsage, exitAwake, exitSignal = 1, 2, 75, 128

// app is what every verb has.
type app struct {
	dsn        string
	json, help bool
}

// verbs are all of them, in the order of the help.
func (a *app) verbs() []verb {
	return append([]verb{
		a.devVerb(), a.workerVerb(), a.migrateVerb(), a.doctorVerb(), a.pruneVerb(), a.limitVerb(),
		a.pushVerb(), a.pullVerb(), a.shareVerb(),
		a.listVerb(), a.statusVerb(), a.moveVerb(), a.drainVerb(),
		a.reportVerb(), a.approvalsVerb(), a.serveVerb(),
	}, a.orderVerbs()...)
}

// usage is an error that the user mends by calling or configuring otherwise.
type usage struct{ error }

// coded is an error with an exit code of its own. A nil one is said already.
type coded struct {
	code int
	error
}

// bySignal ends a context.
type bySignal struct{ syscall.Signal }

func (s bySignal) Error() string { return s.String() }

func main() {
	proc.HideMemory() // the DSN and keys of stores are none of the homes that a worker wakes
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { end(bySignal{(<-signals).(syscall.Signal)}) }()
	err := new(app).run(ctx, os.Args[1:])
	if c, is := err.(coded); err != nil && (!is || c.error != nil) {
		fmt.Fprintf(os.Stderr, "rouse-fleet: %s\n", text.Line(err.Error(), 4000))
	}
	os.Exit(exitCode(ctx, err))
}

func exitCode(ctx context.Context, err error) int {
	held, c := new(store.Held), coded{}
	switch s := (bySignal{}); {
	case err == nil:
		return 0
	case errors.As(context.Cause(ctx), &s):
		return exitSignal + int(s.Signal)
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, home.ErrAwake), errors.As(err, &held) && held.Until != nil:
		return exitAwake
	case errors.As(err, new(usage)), errors.As(err, new(*home.StateError)):
		return exitUsage
	}
	return exitFailed
}
