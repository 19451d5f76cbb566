package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rouse/agent/approval"
	"rouse/agent/config"
	"rouse/fleet/checkout"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/text"
	"rouse/page"
	"rouse/setup"
)

// views are the copies of homes that are looked at here.
func views(s *store.Store, dir string) (*checkout.Views, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, usage{fmt.Errorf("there is no place for copies of homes: %w; name a --dir", err)}
		}
		dir = filepath.Join(cache, "rouse-fleet", s.ID)
	}
	return checkout.OpenViews(s, dir)
}

func dirFlag(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "dir", "", "where the copies are that are looked at (default in the user's cache)")
}

// opened opens the copy of a home, with nothing but the environment.
func opened(dir string) (*setup.Setup, error) {
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	return setup.Open(h, setup.Process{Environ: os.Environ(), Now: time.Now})
}

func look(ctx context.Context, w *checkout.Views, name string) (*setup.Setup, error) {
	at, err := w.Fresh(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := opened(w.Dir(name))
	if err == nil {
		s.Home.Elsewhere = at.AwakeAt(time.Now())
	}
	return s, err
}

// waiting is a call that waits for a yes.
type waiting struct {
	Home  string    `json:"home"`
	ID    string    `json:"id"`
	Asked time.Time `json:"asked"`
	Call  string    `json:"call"`
	Rule  string    `json:"rule"`
}

func (a *app) approvalsVerb() verb {
	var dir string
	return verb{
		use: "approvals [NAME]", short: "list the calls that wait for a yes, in all homes",
		flags: func(f *pflag.FlagSet) { dirFlag(f, &dir) },
		run: a.in(func(ctx context.Context, s *store.Store, args []string) (any, string, error) {
			all, err := s.Homes(ctx)
			w, failed := views(s, dir)
			list, rows, now := []waiting{}, [][]string{}, time.Now()
			for _, at := range all {
				if err = cmp.Or(err, failed); err != nil || at.State.Waiting == 0 && len(args) == 0 || len(args) == 1 && at.Name != args[0] {
					continue
				}
				h, none := look(ctx, w, at.Name)
				if err = none; err != nil {
					continue
				}
				calls, none := h.Asked()
				err = none
				for _, c := range calls {
					if c.State == approval.Open {
						l := waiting{at.Name, c.ID, c.Asked, h.Hidden().String(c.Call()), c.Rule}
						list = append(list, l)
						rows = append(rows, []string{l.Home, l.ID, clockAt(l.Asked, now), text.Line(l.Call, 300), text.Line(l.Rule, 120)})
					}
				}
			}
			return list, cmp.Or(table(rows), "nothing waits for a yes"), err
		}),
	}
}

func (a *app) serveVerb() verb {
	var dir, keys string
	set := config.Default().Serve
	return verb{
		use: "serve", short: "show all homes in a browser, with buttons to answer",
		long: "\nThe page is that of rouse serve, of copies of the homes: a button is an order. See docs/page.md\nfor who gets in. Programs hand a home a task at POST /h/HOME/hooks/NAME, by its hooks: docs/hooks.md.\n",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&set.Listen, "listen", "127.0.0.1:8644", "address and port")
			f.StringVar(&set.BehindProxy, "behind-proxy", "", "name under which a proxy that does TLS shows it")
			f.StringVar(&keys, "keys", "", "folder with the secrets of hooks, in .env of all homes or in folders by their names: that of the workers will do")
			dirFlag(f, &dir)
		},
		run: func(ctx context.Context, _ []string) error {
			s, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			may, failed := false, s.Ready(ctx)
			if failed == nil {
				may, failed = s.Reads(ctx)
			}
			if err := cmp.Or(set.Check(os.Getenv), failed); err != nil {
				return usage{err}
			}
			if err := readable(&keys); err != nil {
				return usage{err}
			}
			w, err := views(s, dir)
			if err != nil {
				return err
			}
			if !may {
				fmt.Println("this login sees which homes there are, not what is in them: that takes one that was granted rouse_worker")
			}
			return page.Run(ctx, a.page(ctx, s, w, keys), set, os.Getenv)
		},
	}
}

// orderPatience is how long a button waits for what it ordered.
const orderPatience = 10 * time.Second

// page is the page over all homes.
func (a *app) page(ctx context.Context, s *store.Store, w *checkout.Views, keys string) page.Options {
	say := func(line string) { fmt.Println(line) }
	d := &hooks{ctx: ctx, store: s, views: w, keys: keys, say: say, said: map[string]bool{}}
	return page.Options{Open: opened, Now: time.Now, Say: say, Fleet: &page.Fleet{
		Receive: d.receive, Became: d.became,
		Homes: each(time.Second, func() (list []page.Kept, err error) {
			all, err := s.Homes(ctx)
			now := time.Now()
			for _, h := range all {
				list = append(list, page.Kept{Name: h.Name, Dir: w.Dir(h.Name), Where: h.Where(now), Newest: lastCycle(h, now), Today: store.Money(h.State.Spent), Needs: h.Attention(now), Next: h.State.Next})
			}
			return list, err
		}),
		Fresh: func(dir string) (bool, error) {
			at, err := w.Fresh(ctx, filepath.Base(dir))
			return at.AwakeAt(time.Now()), err
		},
		Order: func(dir string, argv []string) (string, error) {
			name := filepath.Base(dir)
			defer w.Again(name)
			o, err := place(ctx, s, name, argv, nil)
			if err != nil {
				return "", err
			}
			o, why, err := became(ctx, s, name, o, orderPatience)
			switch said := strings.TrimSpace(deref(o.Said)); {
			case err != nil || o.Done == nil:
				return why, err
			case deref(o.Exit) != 0:
				return "", fmt.Errorf("exit %d: %s", deref(o.Exit), said)
			default:
				return said, nil
			}
		},
	}}
}
