package store_test

import (
	"bytes"
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

	"rouse/agent/history"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv("FLEET_HOLDER"); dsn != "" {
		os.Exit(hold(dsn))
	}
	devtest.Main(m)
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

// TestContents: contents of all sizes come back, known ones are not sent again, and what is
// damaged in the store is an error.
func TestContents(t *testing.T) {
	dsn, s := migrated(t)
	ctx := t.Context()
	random := func(n int) []byte {
		b := make([]byte, n)
		rand.NewChaCha8([32]byte{byte(n)}).Read(b)
		return b
	}
	u := s.Upload()
	contents, sums := map[string][]byte{}, []string{}
	for _, b := range [][]byte{nil, []byte("x"), random(1<<20 - 1), random(1 << 20), random(3<<20 + 7), make([]byte, 9<<20)} {
		sum, err := u.Add(ctx, bytes.NewReader(b))
		must(t, err, "")
		contents[sum], sums = b, append(sums, sum)
	}
	must(t, u.Flush(ctx), "")
	codec := new(history.Codec)
	for sum, want := range contents {
		var got bytes.Buffer
		must(t, s.Content(ctx, sum, codec, &got), "")
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes came back as %d", len(want), got.Len())
		}
	}
	if missing, err := s.Missing(ctx, append(sums, strings.Repeat("ab", 32))); err != nil || len(missing) != 1 {
		t.Errorf("missing %v: %v", missing, err)
	}
	again := s.Upload() // one more line at the end of a large file
	_, err := again.Add(ctx, bytes.NewReader(append(random(3<<20+7), '\n')))
	must(t, err, "")
	must(t, again.Flush(ctx), "")
	if again.Sent > 1<<10 || u.Sent < 5<<20 {
		t.Errorf("%d bytes were sent for one, %d before", again.Sent, u.Sent)
	}
	devtest.Exec(t, dsn, `update rouse.chunks set data = data || 'x' where length(data) < 30`)
	must(t, s.Content(ctx, sums[1], codec, new(bytes.Buffer)), "damaged")
	devtest.Exec(t, dsn, `delete from rouse.chunks`)
	must(t, s.Content(ctx, sums[2], codec, new(bytes.Buffer)), "damaged or missing")
}

// TestDoors: what keeps strangers, older programs and other tenants out.
func TestDoors(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://x@db.example.com/f":                    "without TLS",
		"postgres://x@db.example.com/f?sslmode=prefer":     "without TLS",
		"host=127.0.0.1,10.1.1.1 sslmode=disable user=x":   "without TLS",
		"postgres://x@127.0.0.1:1/f":                       "cannot be reached",
		"nonsense":                                         "cannot be read",
		"postgres://x:hunter2@127.0.0.1:1/f?sslmode=maybe": "cannot be read",
	} {
		_, err := store.Open(t.Context(), dsn)
		must(t, err, want)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is told: %v", err)
		}
	}
	dsn, s := migrated(t)
	ctx := t.Context()
	if from, err := s.Migrate(ctx); from != store.Schema || err != nil {
		t.Errorf("migrated again from %d: %v", from, err)
	}
	devtest.Exec(t, dsn, `create role worker login; grant rouse_worker to worker; create role viewer login; grant rouse_viewer to viewer;
		create role other login; grant rouse_worker to other; create role stranger login;
		insert into rouse.members values ('worker', 'main'), ('viewer', 'main'), ('other', 'theirs')`)
	as := func(login string) string { return strings.Replace(dsn, "rouse@", login+"@", 1) }
	worker, viewer, other := open(t, as("worker")), open(t, as("viewer")), open(t, as("other"))
	l, err := worker.Acquire(ctx, "moon", "w", 0, false)
	must(t, err, "")
	u := worker.Upload()
	sum, err := u.Add(ctx, strings.NewReader("the journals' key"))
	must(t, err, "")
	must(t, u.Flush(ctx), "")
	must(t, worker.Commit(ctx, l, store.Version{Manifest: []byte("m")}), "")
	if list, err := viewer.Homes(ctx); err != nil || len(list) != 1 {
		t.Errorf("the viewer sees %v: %v", list, err)
	}
	_, err = viewer.Acquire(ctx, "moon", "v", 0, true)
	must(t, err, "may not do that")
	_, _, err = viewer.Manifest(ctx, l.Home, 0)
	must(t, err, "may not do that")
	must(t, viewer.Content(ctx, sum, new(history.Codec), new(bytes.Buffer)), "may not do that")
	if list, err := other.Homes(ctx); err != nil || len(list) != 0 {
		t.Errorf("another tenant sees %v: %v", list, err)
	}
	_, _, err = other.Manifest(ctx, l.Home, 0)
	must(t, err, store.ErrNone.Error())
	must(t, other.Content(ctx, sum, new(history.Codec), new(bytes.Buffer)), "damaged or missing")
	if err := other.Intent(ctx, l, 1, "x"); !errors.Is(err, store.ErrLost) {
		t.Errorf("another tenant: %v", err)
	}
	must(t, other.Create(ctx, "moon", "o"), "") // its own
	_, err = store.Open(ctx, as("stranger"))
	must(t, err, "may not do that")
	bare := open(t, strings.Replace(devtest.Database(t), "rouse@", "stranger@", 1))
	_, err = bare.Migrate(ctx)
	must(t, err, "may not do that: migrate as one that owns")
	devtest.Exec(t, dsn, `update rouse.schema set version = 99`)
	_, err = store.Open(ctx, dsn)
	must(t, err, "schema 99, and this rouse-fleet knows up to 1: use the newer")
}
