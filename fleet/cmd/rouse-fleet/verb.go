package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"rouse/home"
	"rouse/internal/text"
)

const help = `Keep homes of rouse in a Postgres. A home that was pushed is woken by workers, on whichever
machine one has room, until it is pulled onto one machine again.

%s
Each verb has a help of its own. What never leaves a machine: %s.

The store is --dsn, else $ROUSE_FLEET_DSN, else the one line of %s in the
user's folder of configuration. A try begins with rouse-fleet dev: it says what to export.

Exit codes: 0, 1 failed, 2 usage or configuration, 75 the home is awake or an order not done yet, 130 or 143 a signal.

%s`

// verb is one word of the command line.
type verb struct {
	use   string // and its arguments: "push DIR", "pull NAME [DIR]", "do NAME -- ARGV..."
	short string // what it does, in a line of the help
	long  string // and the rest, lines for its own help
	flags func(*pflag.FlagSet)
	run   func(ctx context.Context, args []string) error // [app.in] makes one
}

func (v verb) name() string { return strings.Fields(v.use)[0] }

// takes says whether a number of arguments is right.
func (v verb) takes(n int) bool {
	least, most := 0, 0
	for _, word := range strings.Fields(v.use)[1:] {
		switch {
		case word == "--":
			continue
		case strings.Contains(word, "..."):
			most += 1 << 20
		}
		most++
		if word[0] != '[' {
			least++
		}
	}
	return least <= n && n <= most
}

// run runs one command line.
func (a *app) run(ctx context.Context, args []string) error {
	all := pflag.NewFlagSet("rouse-fleet", pflag.ContinueOnError)
	all.StringVar(&a.dsn, "dsn", "", "the store: postgres://user@host/database?sslmode=verify-full")
	all.BoolVar(&a.json, "json", false, "print JSON")
	all.BoolVarP(&a.help, "help", "h", false, "print this")
	all.SetInterspersed(false)
	if err := all.Parse(args); err != nil {
		return usage{fmt.Errorf("%w (those of a verb stand behind it); see rouse-fleet --help", err)}
	}
	args = all.Args()
	if len(args) > 0 && args[0] == "help" {
		a.help, args = true, args[1:]
	}
	if len(args) == 0 {
		fmt.Print(a.helped(all))
		return nil
	}
	var names []string
	for _, v := range a.verbs() {
		if v.name() == args[0] {
			return a.do(ctx, v, all, args[1:])
		}
		names = append(names, v.name())
	}
	return usage{fmt.Errorf("%q is no verb%s; see rouse-fleet --help", args[0], text.Meant(args[0], names))}
}

// do runs a verb with what stands behind it.
func (a *app) do(ctx context.Context, v verb, all *pflag.FlagSet, args []string) error {
	flags := pflag.NewFlagSet(v.name(), pflag.ContinueOnError)
	if v.flags != nil {
		v.flags(flags)
	}
	flags.AddFlagSet(all)
	flags.Usage = func() {}
	if err := flags.Parse(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return usage{fmt.Errorf("%w; see rouse-fleet %s --help", err, v.name())}
	}
	if a.help {
		fmt.Printf("rouse-fleet %s: %s\n%s\n%s", v.use, v.short, v.long, flags.FlagUsages())
		return nil
	}
	if !v.takes(flags.NArg()) {
		return usage{fmt.Errorf("got %s; it is used as: rouse-fleet %s", text.Count(flags.NArg(), "argument"), v.use)}
	}
	return v.run(ctx, flags.Args())
}

// helped is the help of all.
func (a *app) helped(all *pflag.FlagSet) string {
	verbs := text.Join(a.verbs(), "", func(v verb) string { return fmt.Sprintf("  rouse-fleet %-28s %s\n", v.use, v.short) })
	return fmt.Sprintf(help, verbs, strings.Join(home.Staying(), ", "), configFile, all.FlagUsages())
}
