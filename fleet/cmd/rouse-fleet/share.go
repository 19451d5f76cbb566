package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/share"
	"rouse/fleet/store"
	"rouse/internal/text"
	"rouse/scratchpad/observation"
)

// shareHelp is said of it.
const shareHelp = `
  rouse-fleet share OBSERVATION --from HOME --with HOME... [--ttl 30d] [--tell]
  rouse-fleet share --rule TOOL --from HOME --with HOME... [--ttl 30d]
  rouse-fleet share --list
  rouse-fleet share --end ID

OBSERVATION is an id of rouse observation list in the newest version of HOME. The others read it from
their next wake on, by the id that is said here and in nothing else; --tell gives them a task that names it.
A rule shares what TOOL makes in HOME from now on: at most 100 a day, 1 GiB each, 4 GiB of a home at once.
--end takes an id, or the number of a rule: what that shared stays until it expires.
`

// sharing are the flags of share.
type sharing struct {
	from, ttl, rule, end string
	with                 []string
	tell, list           bool
}

func (a *app) shareVerb() verb {
	var o sharing
	return verb{
		use: "share [OBSERVATION]", short: "let homes read an observation of another", long: shareHelp,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.from, "from", "", "the home whose it is")
			f.StringSliceVar(&o.with, "with", nil, "the homes that may read it")
			f.StringVar(&o.ttl, "ttl", "30d", "for how long")
			f.StringVar(&o.rule, "rule", "", "share what this tool makes from now on")
			f.BoolVar(&o.tell, "tell", false, "give them a task that names it")
			f.BoolVar(&o.list, "list", false, "list what is shared, and the rules")
			f.StringVar(&o.end, "end", "", "end what is shared under this id, or a rule")
		},
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			switch one := len(args) == 1; {
			case o.list && !one && o.end == "":
				return o.listed(ctx, s)
			case o.end != "" && !one && !o.list:
				return o.ended(ctx, s)
			case o.list || o.end != "" || one == (o.rule != "") || o.from == "" || len(o.with) == 0 || o.rule != "" && o.tell:
				return nil, "", usage{errors.New("say what is shared, --from which home and --with which; see rouse-fleet share --help")}
			}
			return o.share(ctx, s, args)
		}),
	}
}

func (o *sharing) share(ctx context.Context, s *store.Store, args []string) (any, string, error) {
	ttl, err := time.ParseDuration(o.ttl)
	if days, ok := strings.CutSuffix(o.ttl, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		ttl = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ttl < time.Second || ttl > 10000*24*time.Hour {
		return nil, "", usage{fmt.Errorf("--ttl %s: write 30d or 12h, at most 10000d", text.Line(o.ttl, 40))}
	}
	for _, name := range append([]string{o.from}, o.with...) {
		if _, err := s.Home(ctx, name); err != nil {
			return nil, "", fmt.Errorf("%s: %w", text.Line(name, 100), err)
		}
	}
	with := strings.Join(o.with, ", ")
	if o.rule != "" {
		r := store.Rule{Home: o.from, Tool: o.rule, With: o.with, TTL: int64(ttl.Seconds())}
		id, err := s.AddRule(ctx, r)
		r.ID = id
		return r, fmt.Sprintf("rule %d: what %s makes in %s from now on is shared with %s, for %s each", id, o.rule, o.from, with, o.ttl), err
	}
	x, err := share.Observation(ctx, s, args[0], o.from, o.with, ttl)
	if err != nil {
		return nil, "", err
	}
	said := fmt.Sprintf("%s%s: %s of %d bytes, shared with %s for %s", observation.SharedPrefix, x.ID, x.Note.Kind, x.Note.Bytes, with, o.ttl)
	for _, name := range o.with {
		if o.tell && err == nil {
			_, err = place(ctx, s, name, share.Tells(x), nil)
		}
	}
	if err != nil {
		err = fmt.Errorf("it is shared as %s, but not all were told: %w", x.ID, err)
	}
	return x, said, err
}

func (o *sharing) ended(ctx context.Context, s *store.Store) (any, string, error) {
	id := strings.TrimPrefix(o.end, observation.SharedPrefix)
	rule, _ := strconv.ParseInt(id, 10, 64)
	ended, err := s.EndShared(ctx, id, rule)
	if err == nil && !ended {
		err = fmt.Errorf("nothing is shared as %s: see rouse-fleet share --list", text.Line(o.end, 40))
	}
	return map[string]string{"ended": id}, "ended; homes lose it with their next wake", err
}

func (o *sharing) listed(ctx context.Context, s *store.Store) (any, string, error) {
	all, err := s.Shared(ctx)
	rules, failed := s.Rules(ctx, 0)
	said := text.Join(rules, "", func(r store.Rule) string {
		return fmt.Sprintf("rule %-3d what %s makes in %s, with %s, %d since a day ago\n", r.ID, text.Line(r.Tool, 64), r.Home, strings.Join(r.With, ", "), r.Today)
	}) + text.Join(all, "\n", func(x store.Shared) string {
		return fmt.Sprintf("%s%s  of %s, with %s, %s %s %d bytes, until %s", observation.SharedPrefix, x.ID, x.Home, strings.Join(x.With, ", "), text.Line(x.Note.Tool, 64), x.Note.Kind, x.Note.Bytes, x.Note.Expires.Format(time.DateTime))
	})
	return map[string]any{"shared": all, "rules": rules}, cmp.Or(strings.TrimRight(said, "\n"), "nothing is shared"), cmp.Or(err, failed)
}
