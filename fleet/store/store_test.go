package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv("FLEET_HOLDER"); dsn != "" {
		os.Exit(hold(dsn))
	}
	os.Exit(devtest.M{M: m}.Run())
}

func open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// migrated is a store with the home moon, which nobody has.
func migrated(t testing.TB) (dsn string, s *store.Store) {
	t.Helper()
	dsn = devtest.Database(t)
	s = open(t, dsn)
	must(t, s.Ready(t.Context()), "migrate")
	_, err := s.Migrate(t.Context())
	must(t, err, "")
	must(t, s.Create(t.Context(), "moon", "me"), "")
	l, err := s.Acquire(t.Context(), "moon", "me", 0, false)
	must(t, err, "")
	must(t, s.Commit(t.Context(), l, store.Version{Maker: "me", Manifest: []byte("0")}), "")
	return dsn, s
}

// must wants an error that says something, or with "" none.
func must(t testing.TB, err error, says string) {
	t.Helper()
	if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
		t.Fatalf("error %v, want %q", err, says)
	}
}

// TestFence: who was overtaken can do nothing more for a home, whatever it tries.
func TestFence(t *testing.T) {
	_, s := migrated(t)
	ctx := t.Context()
	old, err := s.Acquire(ctx, "moon", "first", time.Hour, false)
	must(t, err, "")
	must(t, s.Intent(ctx, old, 1, "sh: mail"), "")
	held := new(store.Held)
	if _, err := s.Acquire(ctx, "moon", "second", time.Hour, false); !errors.As(err, &held) || held.Holder != "first" {
		t.Fatalf("taken from %+v: %v", held, err)
	}
	must(t, s.Renew(ctx, old, time.Microsecond), "") // and it is over
	now, err := s.Acquire(ctx, "moon", "second", time.Hour, false)
	must(t, err, "")
	for what, err := range map[string]error{"renew": s.Renew(ctx, old, time.Hour), "intent": s.Intent(ctx, old, 2, "x"), "commit": s.Commit(ctx, old, store.Version{})} {
		if !errors.Is(err, store.ErrLost) {
			t.Errorf("%s under an older epoch: %v", what, err)
		}
	}
	if calls, err := s.Intents(ctx, now.Home, old.Epoch); err != nil || fmt.Sprint(calls) != "[sh: mail]" {
		t.Errorf("the successor reads %q: %v", calls, err)
	}
	must(t, s.Commit(ctx, now, store.Version{Manifest: []byte("1"), Slot: "noon"}), "")
	if err := s.Commit(ctx, now, store.Version{}); !errors.Is(err, store.ErrLost) { // the lease ended with it
		t.Errorf("twice: %v", err)
	}
	again, err := s.Acquire(ctx, "moon", "third", 0, false)
	must(t, err, "")
	must(t, s.Commit(ctx, again, store.Version{Manifest: []byte("2"), Slot: "noon"}), "versions_home_slot_key")
	if h, err := s.Home(ctx, "moon"); err != nil || h.Version != 2 || h.Holder != "third" { // both or neither
		t.Errorf("%+v: %v", h, err)
	}
	_, err = s.Acquire(ctx, "sun", "me", 0, true)
	must(t, err, store.ErrNone.Error())
}

// hold is a process that wakes the home again and again, slower than its lease at times,
// and appends to its memory what it read there. It prints the lines that were committed.
func hold(dsn string) int {
	ctx := context.Background()
	s, err := store.Open(ctx, dsn)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer s.Close()
	me := fmt.Sprintf("%d-%d", os.Getpid(), rand.Uint32())
	for n, tries := 0, 0; n < 10 && tries < 3000; tries++ {
		l, err := s.Acquire(ctx, "moon", me, 20*time.Millisecond, rand.N(50) == 0)
		if errors.As(err, new(*store.Held)) {
			time.Sleep(rand.N(3 * time.Millisecond))
			continue
		}
		memory, _, err2 := s.Manifest(ctx, l.Home, 0)
		line := fmt.Sprintf("%s.%d", me, n)
		if rand.N(3) == 0 {
			time.Sleep(rand.N(30 * time.Millisecond)) // past the lease
		}
		err3 := s.Intent(ctx, l, 1, line)
		err4 := s.Commit(ctx, l, store.Version{Maker: me, Manifest: append(memory, "\n"+line...)})
		switch err := errors.Join(err, err2); {
		case err != nil || err4 == nil && err3 != nil:
			fmt.Println(err, err3)
			return 1
		case err4 == nil:
			fmt.Println(line)
			n++
		case !errors.Is(err4, store.ErrLost):
			fmt.Println(err4)
			return 1
		}
	}
	return 0
}

// TestNeverForks: goroutines and processes wake one home as fast as they can, with leases
// that are too short. Every version has all that was committed before it, once.
func TestNeverForks(t *testing.T) {
	dsn, s := migrated(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var said []string
	for i := range 4 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "FLEET_HOLDER="+dsn)
		wg.Go(func() {
			if i%2 == 0 {
				out, err := c.CombinedOutput()
				mu.Lock()
				defer mu.Unlock()
				if said = append(said, strings.Fields(string(out))...); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			} else if hold(dsn) != 0 {
				t.Error("it failed")
			}
		})
	}
	wg.Wait()
	h, err := s.Home(t.Context(), "moon")
	must(t, err, "")
	memory, version, err := s.Manifest(t.Context(), h.ID, 0)
	must(t, err, "")
	lines := strings.Split(string(memory), "\n")
	if version != h.Version || len(lines) != version {
		t.Errorf("version %d of %d has %d lines: some commit went without what another had", version, h.Version, len(lines))
	}
	for _, line := range said {
		if strings.Count(string(memory)+"\n", "\n"+line+"\n") != 1 {
			t.Errorf("%s was committed and is not there once", line)
		}
	}
	t.Logf("%d commits under %d epochs", version, h.Epoch)
}
