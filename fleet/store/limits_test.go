package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"rouse/agent/budget"
	"rouse/fleet/store"
)

// TestLimits: three workers and sixty goroutines race for one dollar, whose cycles may cost
// ten cents each; and what a cycle did not spend is free again, that of a lost one is not.
func TestLimits(t *testing.T) {
	dsn, s := migrated(t)
	ctx := t.Context()
	must(t, s.SetLimits(ctx, store.Limits{Day: 1e6, Month: 1e13, Each: 1e5, Keep: 30}), "")
	var mu sync.Mutex
	var won []store.Lease
	var wg sync.WaitGroup
	for w := range 3 {
		worker := open(t, dsn)
		for n := range 20 {
			wg.Go(func() {
				name := fmt.Sprintf("home%d-%d", w, n)
				err := worker.Create(ctx, name, name)
				l, failed := worker.Acquire(ctx, name, name, time.Hour, false)
				if err = errors.Join(err, failed); err == nil {
					err = worker.Reserve(ctx, l, 1e5)
				}
				full := new(store.Exceeded)
				switch {
				case err == nil:
					mu.Lock()
					won = append(won, l)
					mu.Unlock()
				case !errors.As(err, &full) || full.Limit != "day" || full.Used != 1e6 || full.Free.Before(time.Now()):
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if p, err := s.Spent(ctx); len(won) != 10 || err != nil || p != (store.Spent{Day: 1e6, Month: 1e6, Awake: 10}) {
		t.Fatalf("%d have 10 cents of a dollar: %+v: %v", len(won), p, err)
	}
	must(t, s.Reserve(ctx, won[0], 1e5), "") // again is once
	must(t, s.Commit(ctx, won[0], store.Version{Maker: "me", Manifest: []byte("1"), Spend: 40_000}), "")
	must(t, s.Renew(ctx, won[1], time.Microsecond), "") // and it is lost
	h, err := s.HomeOf(ctx, won[1].Home)
	must(t, err, "")
	again, err := s.Acquire(ctx, h.Name, "other", time.Hour, false)
	must(t, err, "")
	must(t, s.Reserve(ctx, won[1], 1), store.ErrLost.Error())
	must(t, s.Reserve(ctx, again, 60_001), "the fleet's limit of a day: 0.94 of 1 are spent or reserved, and the cycle may cost 0.060001; it is free again at ")
	must(t, s.Reserve(ctx, again, 2e6), "less than a cycle of this home may cost, 2: set a lower limits.cycle.money")
	must(t, s.Reserve(ctx, again, 60_000), "")
	must(t, s.Commit(ctx, again, store.Version{Spend: 90_000}), "") // it cost more, without a version
	if p, err := s.Spent(ctx); err != nil || p != (store.Spent{Day: 1_030_000, Month: 1_030_000, Awake: 8}) {
		t.Errorf("%+v: %v", p, err)
	}
	moon, err := s.Acquire(ctx, "moon", "me", time.Hour, false)
	must(t, err, "")
	must(t, s.SetLimits(ctx, store.Limits{Month: 1e6, Each: 1e5, Keep: 30}), "")
	must(t, s.Reserve(ctx, moon, 1), "limit of a month: 1.03 of 1")
	must(t, s.SetLimits(ctx, store.Limits{Awake: 8, Each: 1e5, Keep: 30}), "")
	must(t, s.Reserve(ctx, moon, 1), "homes that are awake: 8 of 8")
	must(t, s.SetLimits(ctx, store.Limits{Awake: 9}), "")
	must(t, s.Reserve(ctx, moon, 1), "")
}

func TestMost(t *testing.T) {
	usd := func(n int64) budget.Amount { return budget.Amount{Money: budget.Money(n)} }
	for _, tt := range []struct {
		l    budget.Limits
		want int64
	}{{budget.Limits{}, 7}, {budget.Limits{Call: usd(1), Cycle: budget.Amount{Tokens: 5}}, 7}, {budget.Limits{Cycle: usd(2e9), Day: usd(1e9)}, 1e6}, {budget.Limits{Month: usd(1)}, 1}} {
		if got := store.Most(tt.l, 7); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.l, got, tt.want)
		}
	}
}
