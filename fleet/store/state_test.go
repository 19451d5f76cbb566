package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rouse/fleet/store"
	"rouse/internal/mirror"
)

// TestAttention: what a home needs of a person, and who has it, is said of what the store knows.
func TestAttention(t *testing.T) {
	now := time.Now()
	before, soon := now.Add(-time.Hour), now.Add(time.Minute)
	for want, h := range map[string]store.Home{
		"in the fleet":                    {State: store.State{Next: &soon, Outcome: "done"}},
		"at m:/x":                         {Holder: "m:/x", State: store.State{Next: &before}},
		"awake at w: 2 approvals to give": {Holder: "w", Until: &soon, State: store.State{Waiting: 2}},
		"left by w: no key":               {Holder: "w", Until: &before, State: store.State{Problem: "no key", Next: &before}},
		"left by w: nobody woke it at " + before.Format("15:04"):                 {Holder: "w", Until: &before, State: store.State{Next: &soon}},
		"in the fleet: nobody did what was ordered at " + before.Format("15:04"): {Ordered: &before},
		"at m:/y":                          {Holder: "m:/y", Ordered: &before},
		"in the fleet: failed: it is late": {State: store.State{Outcome: "failed", Error: "it is late"}},
		"in the fleet: nobody woke it at " + before.Format("15:04"):                                                     {State: store.State{Next: &before}},
		"in the fleet: nobody woke it at " + before.Format("15:04") + ": is a worker with eu, gpu there, and Temporal?": {State: store.State{Next: &before}, Needs: []string{"eu", "gpu"}},
	} {
		got := strings.Join(append([]string{h.Where(now)}, h.Attention(now)...), ": ")
		if !strings.HasPrefix(got, want) || strings.Count(got, ":") > strings.Count(want, ":")+1 {
			t.Errorf("%s, want %s", got, want)
		}
	}
	w := store.Worker{Name: "w", Labels: []string{"gpu"}, Seen: now}
	for needs, takes := range map[string]bool{"": true, "gpu": true, "worker:w gpu": true, "eu": false, "worker:v": false} {
		if h := (store.Home{Needs: strings.Fields(needs)}); w.Takes(h, now) != takes || w.Takes(h, now.Add(time.Hour)) {
			t.Errorf("needs %q", needs)
		}
	}
}

// TestOverview: of orders those that wait and the newest that are done, and of lines those that are new.
func TestOverview(t *testing.T) {
	_, s := migrated(t)
	ctx := t.Context()
	l, err := s.Acquire(ctx, "moon", "w", time.Hour, false)
	must(t, err, "")
	done := []store.Done{}
	for i := range 4 {
		id, err := s.Order(ctx, "moon", []string{fmt.Sprint(i)}, []byte("secret"))
		must(t, err, "")
		if i < 3 {
			done = append(done, store.Done{ID: id})
		}
	}
	must(t, s.Mirror(ctx, l, mirror.Line{Path: "a", Data: []byte("1")}), "")
	must(t, s.Mirror(ctx, l, mirror.Line{Path: "b", Whole: true}), "")
	lines, last, err := s.LinesAfter(ctx, l.Home, 0)
	must(t, err, "")
	rest, same, err := s.LinesAfter(ctx, l.Home, last)
	must(t, err, "")
	if len(lines) != 2 || len(rest) != 0 || same != last || lines[1].At != 0 || !lines[1].Whole {
		t.Errorf("%+v then %+v", lines, rest)
	}
	must(t, s.Commit(ctx, l, store.Version{Done: done}), "")
	if h, err := s.Home(ctx, "moon"); err != nil || h.Ordered == nil || time.Since(*h.Ordered).Abs() > time.Hour {
		t.Errorf("%+v, %v", h, err)
	}
	all, err := s.NewestOrders(ctx, l.Home, 2)
	must(t, err, "")
	said := ""
	for _, o := range all {
		said += o.Argv[0] + string(o.Input)
	}
	if said != "321" || all[0].Done != nil || all[1].Done == nil {
		t.Errorf("%s of %+v", said, all)
	}
}

// TestClock: how far a clock is off is what counts, and not how long the answer took.
func TestClock(t *testing.T) {
	_, s := migrated(t)
	for off, want := range map[time.Duration]string{0: "", 4 * time.Second: "", -time.Hour: "1h0m0s behind the store's", 30 * time.Second: "30s ahead of the store's"} {
		ahead, err := s.Ahead(t.Context(), func() time.Time { return time.Now().Add(off) })
		said, bad := store.ClockOff(ahead)
		if err != nil || !strings.Contains(said, want) || (said == "") != (want == "") || bad != (off.Abs() > time.Minute) {
			t.Errorf("%s: ahead by %s, %q, %v, %v", off, ahead, said, bad, err)
		}
	}
	asked := false
	slept := func() time.Time { // since it asked
		defer func() { asked = true }()
		return time.Now().Add(map[bool]time.Duration{true: time.Hour}[asked])
	}
	if ahead, err := s.Ahead(t.Context(), slept); err == nil {
		t.Error("a machine that slept takes its clock to be ahead by", ahead)
	}
}
