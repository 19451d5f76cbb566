package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
	"rouse/internal/mirror"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv("FLEET_HOLDER"); dsn != "" {
		if err := hold(dsn); err != nil {
			log.Fatal(err)
		}
		return
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
	intent := mirror.Line{Path: "logs/cycle_1.jsonl", At: 7, Data: []byte("sh: mail\n")}
	must(t, s.Mirror(ctx, old, intent), "")
	held := new(store.Held)
	if _, err := s.Acquire(ctx, "moon", "second", time.Hour, false); !errors.As(err, &held) || held.Holder != "first" {
		t.Fatalf("taken from %+v: %v", held, err)
	}
	must(t, s.Renew(ctx, old, time.Microsecond), "") // and it is over
	now, err := s.Acquire(ctx, "moon", "second", time.Hour, false)
	must(t, err, "")
	for what, err := range map[string]error{"renew": s.Renew(ctx, old, time.Hour), "intent": s.Mirror(ctx, old, intent), "commit": s.Commit(ctx, old, store.Version{})} {
		if !errors.Is(err, store.ErrLost) {
			t.Errorf("%s under an older epoch: %v", what, err)
		}
	}
	must(t, s.Mirror(ctx, now, mirror.Line{Path: "logs/slots.jsonl", Whole: true, Data: []byte("{}")}), "")
	if lines, err := s.Lines(ctx, now.Home); err != nil || len(lines) != 2 || string(lines[0].Data) != "sh: mail\n" || lines[0].At != 7 || lines[0].Whole || !lines[1].Whole {
		t.Errorf("the successor reads %+v: %v", lines, err)
	}
	must(t, s.Commit(ctx, now, store.Version{Manifest: []byte("1")}), "")
	if err := s.Commit(ctx, now, store.Version{}); !errors.Is(err, store.ErrLost) { // the lease ended with it
		t.Errorf("twice: %v", err)
	}
	if lines, err := s.Lines(ctx, now.Home); err != nil || len(lines) > 0 { // the version has them
		t.Errorf("%+v are left: %v", lines, err)
	}
	again, err := s.Acquire(ctx, "moon", "third", 0, false)
	must(t, err, "")
	must(t, s.Commit(ctx, again, store.Version{Manifest: []byte("2"), Files: 1 << 40}), "int4")
	if h, err := s.Home(ctx, "moon"); err != nil || h.Version != 2 || h.Holder != "third" { // both or neither
		t.Errorf("%+v: %v", h, err)
	}
	_, err = s.Acquire(ctx, "sun", "me", 0, true)
	must(t, err, store.ErrNone.Error())
}

// hold wakes the home ten times, slower than its lease at times, and appends a line of its
// own to the memory that it read there.
func hold(dsn string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer s.Close()
	me := fmt.Sprintf("%d-%d", os.Getpid(), rand.Uint32())
	for n := 0; n < 10; {
		l, err := s.Acquire(ctx, "moon", me, 20*time.Millisecond, rand.N(50) == 0)
		if errors.As(err, new(*store.Held)) {
			time.Sleep(rand.N(3 * time.Millisecond))
			continue
		}
		memory, _, failed := s.Manifest(ctx, l.Home, 0)
		if rand.N(3) == 0 {
			time.Sleep(rand.N(30 * time.Millisecond)) // past the lease
		}
		intent := s.Mirror(ctx, l, mirror.Line{Path: "x"})
		commit := s.Commit(ctx, l, store.Version{Maker: me, Manifest: fmt.Appendf(memory, "\n%s.%d", me, n)})
		if err = errors.Join(err, failed); err != nil || commit == nil && intent != nil || commit != nil && !errors.Is(commit, store.ErrLost) {
			return errors.Join(err, intent, commit)
		}
		if commit == nil {
			n++
		}
	}
	return nil
}

// TestNeverForks: goroutines and processes wake one home as fast as they can, with leases
// that are too short. Every version has all that was committed before it, in its order.
func TestNeverForks(t *testing.T) {
	dsn, s := migrated(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "FLEET_HOLDER="+dsn)
			if i%2 == 0 {
				if out, err := c.CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			} else if err := hold(dsn); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	h, err := s.Home(t.Context(), "moon")
	must(t, err, "")
	memory, version, err := s.Manifest(t.Context(), h.ID, 0)
	must(t, err, "")
	if lines := strings.Count(string(memory), "\n"); version != h.Version || lines != 40 || version != 41 {
		t.Errorf("version %d of %d has %d lines of 40: some commit went without what another had", version, h.Version, lines)
	}
	for n := range 10 {
		if got := strings.Count(string(memory)+"\n", fmt.Sprintf(".%d\n", n)); got != 4 {
			t.Errorf("of the lines %d there are %d, not 4", n, got)
		}
	}
	t.Logf("%d commits under %d epochs", version, h.Epoch)
}

// TestOrders: what an operator wants is heard of at once and stays until a commit says what
// became of it.
func TestOrders(t *testing.T) {
	dsn, s := migrated(t)
	ctx, end := context.WithCancel(t.Context())
	heard, listening := make(chan string, 9), make(chan error, 1)
	go func() { listening <- s.Listen(ctx, func(id string) { heard <- id }) }()
	var id int64
	for n := 0; len(heard) == 0; n++ { // nobody knows when it began to listen
		var err error
		id, err = open(t, dsn).Order(ctx, "moon", []string{"tell", "-"}, []byte("hello"))
		must(t, err, "")
		time.Sleep(20 * time.Millisecond)
	}
	l, err := s.Acquire(ctx, "moon", "me", time.Hour, false)
	must(t, err, "")
	if h, err := s.HomeOf(ctx, l.Home); err != nil || fmt.Sprint(h.ID) != <-heard {
		t.Errorf("heard of another home than %+v: %v", h, err)
	}
	all, err := s.Orders(ctx, l.Home)
	must(t, err, "")
	done := []store.Done{}
	for _, o := range all {
		done = append(done, store.Done{ID: o.ID, Exit: 1, Said: "no"})
	}
	waiting := store.State{Waiting: 3}
	must(t, s.Commit(ctx, l, store.Version{State: &waiting, Done: done}), "") // without a version
	o, err := s.OrderOf(ctx, id)
	must(t, err, "")
	if h, err := s.Home(ctx, "moon"); err != nil || h.Version != 1 || h.State.Waiting != 3 || *o.Exit != 1 || *o.Said != "no" || o.Done == nil || string(o.Input) != "hello" {
		t.Errorf("%+v of %+v: %v", o, h, err)
	}
	_, err = s.Order(ctx, "sun", nil, nil)
	must(t, err, store.ErrNone.Error())
	must(t, s.Move(ctx, "moon", []string{"gpu"}), "")
	must(t, s.Problem(ctx, l.Home, "no key"), "")
	if h, err := s.Home(ctx, "moon"); err != nil || h.State.Problem != "no key" || h.State.Waiting != 3 || fmt.Sprint(h.Needs) != "[gpu]" {
		t.Errorf("%+v: %v", h, err)
	}
	end()
	must(t, <-listening, "context canceled")
}

// TestWorkers: who is told to drain learns it, and stays so until that is taken back.
func TestWorkers(t *testing.T) {
	_, s := migrated(t)
	ctx := t.Context()
	beat := func(drains bool) {
		t.Helper()
		if is, err := s.Beat(ctx, store.Worker{Name: "a", Labels: []string{"gpu"}, Awake: 2}); err != nil || is != drains {
			t.Errorf("drains %v: %v", is, err)
		}
	}
	beat(false)
	must(t, s.Drain(ctx, "a", true), "")
	beat(true)
	must(t, s.Drain(ctx, "a", false), "")
	beat(false)
	must(t, s.Drain(ctx, "b", true), store.ErrNone.Error())
	if all, err := s.Workers(ctx); err != nil || len(all) != 1 || all[0].Awake != 2 || all[0].Labels[0] != "gpu" {
		t.Errorf("%+v: %v", all, err)
	}
	must(t, s.Gone(ctx, "a"), "")
	if all, err := s.Workers(ctx); err != nil || len(all) != 0 {
		t.Errorf("%+v: %v", all, err)
	}
}
