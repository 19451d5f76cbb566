package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"rouse/fleet/store"
	"rouse/internal/text"
)

func (a *app) listVerb() verb {
	return verb{use: "list", short: "list the homes and where each is", run: a.in(func(ctx context.Context, s *store.Store, _ []string) (any, string, error) {
		all, err := s.Homes(ctx)
		return all, cmp.Or(text.Join(all, "\n", line), "no homes yet: rouse-fleet push DIR"), err
	})}
}

func (a *app) statusVerb() verb {
	return verb{use: "status NAME", short: "say where a home is", run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
		h, err := s.Home(ctx, args[0])
		if err != nil {
			err = fmt.Errorf("%s: %w", args[0], err)
		}
		return h, line(h), err
	})}
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
