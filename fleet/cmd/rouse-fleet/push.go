package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/text"
)

func (a *app) pushVerb() verb {
	var name string
	return verb{
		use: "push DIR", short: "take a home into the fleet",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&name, "name", "", "its name in the fleet (default that of before, else of the folder)")
		},
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			h, err := home.At(args[0])
			if err != nil {
				return nil, "", usage{err}
			}
			r, err := checkout.Push(ctx, s, h, name)
			said := fmt.Sprintf("%s is in the fleet, version %d: %s, %d bytes, of which %d were sent\nback by: rouse-fleet pull %[1]s %[6]s", r.Name, r.Version, text.Count(r.Files, "file"), r.Bytes, r.Sent, r.Dir)
			if r.Unscheduled {
				said += "\nno schedule in its rouse.yaml: it wakes by rouse-fleet run " + r.Name
			}
			if len(r.Left) > 0 {
				said += "\nleft out: " + strings.Join(r.Left, ", ")
			}
			return r, said, err
		}),
	}
}

func (a *app) pullVerb() verb {
	var take, leave bool
	return verb{
		use: "pull NAME [DIR]", short: "take it out, onto this machine",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&take, "take", false, "also from another machine, whose changes since then stay there")
			f.BoolVar(&leave, "no-wait", false, "do not wait until a cycle that is awake has ended")
		},
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			r, err := checkout.Pull(ctx, s, args[0], append(args, args[0])[1], take)
			for said, held := "", new(store.Held); !leave && errors.As(err, &held) && held.Until != nil; {
				if said != held.Holder {
					fmt.Fprintf(os.Stderr, "%s; waiting until its cycle ends\n", held)
				}
				if said = held.Holder; !clock.Pause(ctx, time.Second) {
					break
				}
				r, err = checkout.Pull(ctx, s, args[0], append(args, args[0])[1], take)
			}
			if r.Here {
				return r, fmt.Sprintf("%s is here, in %s: the fleet has nothing newer", r.Name, r.Dir), err
			}
			return r, fmt.Sprintf("%s, version %d, is in %s: %s, %d bytes\nnext: rouse --home %[3]s run", r.Name, r.Version, r.Dir, text.Count(r.Files, "file"), r.Bytes), err
		}),
	}
}
