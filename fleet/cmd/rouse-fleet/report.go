package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/setup"
	"rouse/setup/report"
)

// reporting is what the verb report is told.
type reporting struct {
	since, dir string
	html       bool
}

func (a *app) reportVerb() verb {
	o := new(reporting)
	return verb{
		use: "report [NAME...]", short: "show what happened in homes while nobody looked",
		long: "Without names: how each home is, and then what happened in those in which something did.\n",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.since, "since", "24h", "from then on: 24h, 7d, 2026-04-01 or a cycle")
			f.BoolVar(&o.html, "html", false, "print one HTML document")
			dirFlag(f, &o.dir)
		},
		run: a.in(func(ctx context.Context, s *store.Store, names []string) (any, string, error) {
			w, err := views(s, o.dir)
			var all []store.Home
			if err == nil && len(names) == 0 {
				all, err = s.Homes(ctx)
			}
			if err != nil {
				return nil, "", err
			}
			for _, h := range all {
				names = append(names, h.Name)
			}
			list, said, err := o.of(ctx, w, names, len(all) > 0)
			if overview := homes(all, time.Now()); overview != "" && !o.html {
				said = strings.TrimSpace(overview + "\n\n" + said)
			}
			if err != nil && len(list) > 0 { // of the others it is told all the same
				err = errors.Join(err, a.print(list, said))
			}
			return list, said, err
		}),
	}
}

// of reports on homes, in words on those in which nothing happened only where they are named.
func (o *reporting) of(ctx context.Context, w *checkout.Views, names []string, brief bool) (list []report.Report, said string, err error) {
	var b strings.Builder
	for _, name := range names {
		h, failed := look(ctx, w, name)
		var one []report.Report
		if failed == nil {
			one, failed = report.Of([]*setup.Setup{h}, o.since)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("no report on %s: %w", name, failed))
			continue
		}
		if list = append(list, one...); !o.html && !(brief && one[0].Blank()) {
			var text strings.Builder
			one[0].Text(&text, nil)
			b.WriteString(strings.TrimRight(mends(name).Replace(text.String()), "\n") + "\n\n")
		}
	}
	if o.html && len(list) > 0 {
		name := "NAME"
		if len(names) == 1 {
			name = names[0]
		}
		err = errors.Join(err, report.HTML(&b, list))
		return list, mends(name).Replace(b.String()), err
	}
	return list, strings.TrimRight(b.String(), "\n"), err
}

// mends makes of what is to be typed in a home what does it in the fleet.
func mends(home string) *strings.Replacer {
	do := "rouse-fleet do " + home + " -- "
	return strings.NewReplacer("rouse approvals approve ", "rouse-fleet approve "+home+" ", "rouse rewind ", do+"rewind ", "rouse allow ", do+"allow ", "rouse resume", "rouse-fleet resume "+home, "rouse doctor --accept", do+"doctor --accept")
}
