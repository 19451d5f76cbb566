package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/flow"
	"rouse/fleet/store"
	"rouse/internal/text"
)

func (a *app) pruneVerb() verb {
	p, said := store.Prune{Grace: store.Grace}, "went"
	return verb{
		use: "prune", short: "remove versions that need not be kept",
		long: `Older versions go, but for the newest ten of each home, and what only they had. Workers do
it once a day, for the days that rouse-fleet limit says.`,
		flags: func(f *pflag.FlagSet) {
			f.Int64Var(&p.Days, "keep-days", -1, "remove versions that are older (default what rouse-fleet limit says)")
			f.BoolVar(&p.Dry, "dry-run", false, "only say what would go")
			f.VisitAll(unset)
		},
		run: a.in(func(ctx context.Context, s *store.Store, _ []string) (any, string, error) {
			r, err := s.Prune(ctx, p)
			if p.Dry {
				said = "would go"
			}
			return r, fmt.Sprintf("%s, %s and %s of them %s: %s of the database, %s of the bucket", text.Count(int(r.Versions), "version"), text.Count(int(r.Contents), "content"),
				text.Count(int(r.Chunks), "chunk"), said, size(r.Bytes), text.Count(int(r.Objects), "object")), err
		}),
	}
}

// unset shows no default of a flag that is -1 where nothing was said.
func unset(f *pflag.Flag) { f.DefValue = strings.Replace(f.DefValue, "-1", "0", 1) }

// size writes bytes.
func size(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func (a *app) limitVerb() verb {
	var day, month, each float64
	var awake, keep int
	var off bool
	return verb{
		use: "limit", short: "show or set what all homes together may spend",
		long: `Without flags it shows them. In the currency of the homes' prices, from midnight to midnight
of UTC; 0 is no limit. Who owns the store sets, workers see.`,
		flags: func(f *pflag.FlagSet) {
			f.Float64Var(&day, "day", -1, "what all homes may spend in a day")
			f.Float64Var(&month, "month", -1, "what they may spend in a month")
			f.IntVar(&awake, "awake", -1, "how many may be awake at once")
			f.Float64Var(&each, "each", -1, "what a cycle may cost whose home sets no limit of money")
			f.IntVar(&keep, "keep-days", -1, "for how many days versions are kept")
			f.BoolVar(&off, "off", false, "take all limits away")
			f.VisitAll(unset)
		},
		run: a.in(func(ctx context.Context, s *store.Store, _ []string) (any, string, error) {
			l, err := s.Limits(ctx)
			was := l
			if off {
				l.Day, l.Month, l.Awake = 0, 0, 0
			}
			for at, given := range map[*int64]float64{&l.Day: day * 1e6, &l.Month: month * 1e6, &l.Each: each * 1e6, &l.Awake: float64(awake), &l.Keep: float64(keep)} {
				if given >= 0 {
					*at = int64(math.Round(given))
				}
			}
			if err == nil && l != was {
				err = s.SetLimits(ctx, l)
			}
			p, failed := s.Spent(ctx)
			return struct {
				store.Limits
				store.Spent
			}{l, p}, limits(l, p), cmp.Or(err, failed)
		}),
	}
}

// limits tells of the limits, and how much of them is used.
func limits(l store.Limits, p store.Spent) string {
	of := func(n int64, words string) string {
		if n == 0 {
			return "no limit"
		}
		return "of " + words
	}
	return fmt.Sprintf("today: %s spent or reserved, %s\nthis month: %s, %s\nawake: %d, %s\na cycle reserves what its home allows it, else %s\nversions are kept for %s",
		store.Money(p.Day), of(l.Day, store.Money(l.Day)), store.Money(p.Month), of(l.Month, store.Money(l.Month)),
		p.Awake, of(l.Awake, fmt.Sprint(l.Awake)), store.Money(l.Each), text.Count(int(l.Keep), "day"))
}

func (a *app) doctorVerb() verb {
	return verb{use: "doctor", short: "check that the store can be used from here, and how full it is", run: a.in(a.doctor)}
}

// temporalVariable has the address of Temporal.
const temporalVariable = "ROUSE_FLEET_TEMPORAL_ADDRESS"

// reach says whether Temporal answers here, at the address that workers on this machine have.
func reach(ctx context.Context, address, fleet string) error {
	t, err := flow.Open(address, "", fleet, func(string) {})
	if err != nil {
		return err
	}
	defer t.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := t.Check(ctx); err != nil {
		return fmt.Errorf("no home wakes while Temporal is away, see whether it runs: %w", err)
	}
	return nil
}

// doctor says how the store is, and fails where its bucket or Temporal does, or the clock here is wrong.
func (a *app) doctor(ctx context.Context, s *store.Store, _ []string) (any, string, error) {
	_, where, _ := a.from()
	all, err := s.Homes(ctx)
	l, none := s.Limits(ctx)
	p, failed := s.Spent(ctx)
	ahead, unknown := s.Ahead(ctx, nil)
	h, bad := s.Health(ctx)
	if err = cmp.Or(err, none, failed, unknown); err != nil || bad != nil && h.Most == 0 {
		return nil, "", cmp.Or(err, bad)
	}
	bucket, oldest := "contents of any size are in the database; rouse-fleet migrate --s3 URL puts large ones into a bucket", ""
	if h.Bucket != "" {
		bucket = "large contents go to " + h.Bucket
	}
	if h.Oldest != nil {
		oldest = ", the oldest of " + h.Oldest.Format(time.DateTime)
	}
	value := map[string]any{"fleet": s.ID, "schema": s.Schema, "homes": len(all), "dsn_from": where, "store": h, "limits": l, "spent": p, "clock_ahead_s": ahead.Seconds()}
	said := fmt.Sprintf("the store of %s is fleet %s, schema %d, with %s\nsize: versions %s%s, contents %s, lines %s\n%s\nconnections: %d of %d\n%s", where, s.ID, s.Schema, text.Count(len(all), "home"),
		size(h.Versions), oldest, size(h.Contents), size(h.Lines), bucket, h.Connections, h.Most, limits(l, p))
	for _, risk := range h.Risks {
		said += "\nmind: " + risk
	}
	if address := os.Getenv(temporalVariable); address != "" && bad == nil {
		bad = reach(ctx, address, s.ID)
		said += "\nTemporal is at " + address
	}
	switch off, wrong := store.ClockOff(ahead); {
	case wrong && bad == nil:
		bad = errors.New(off)
	case off != "":
		said += "\n" + off
	}
	if bad == nil {
		return value, "ok: " + said, nil
	}
	value["problem"] = bad.Error()
	return nil, "", errors.Join(bad, a.print(value, said))
}
