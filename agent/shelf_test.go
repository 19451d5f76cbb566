package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/scratchpad/observation"
)

// TestOpeningTheStoreCollects has an expired entry, an orphaned file and an entry
// of a cycle that lives in a store that is not due for collection: a cycle that
// parks something removes the first two, and one that parks nothing does not
// look.
func TestOpeningTheStoreCollects(t *testing.T) {
	r := newRig(t, "", oldState)
	opt := observation.Options{TTL: time.Hour, Now: func() time.Time { return r.now }}
	open := func() *observation.Store {
		s, err := observation.Open(r.home.Memory(), opt)
		r.must(err)
		return s
	}
	put := func(s *observation.Store, turn string) (*observation.Turn, string) {
		b, err := s.Begin(turn, proc.Self())
		r.must(err)
		w := b.Create(observation.Origin{})
		w.Write([]byte(strings.Repeat("a line\n", 20_000)))
		e, err := w.Commit(nil)
		r.must(err)
		return b, e.ID
	}
	s := open()
	over, expired := put(s, "20260401_000000")
	_, living := put(s, "20260401_000001")
	r.must(over.End())
	orphan := filepath.Join(r.home.Memory(), "observations.db.d", "1-0123456789abcdef.zst")
	r.must(os.WriteFile(orphan, []byte("half"), 0o600))
	r.must(os.Chtimes(orphan, r.now, r.now))
	r.now = r.now.Add(30 * time.Minute)
	_, err := s.GC(context.Background())
	r.must(err)
	r.now = r.now.Add(45 * time.Minute)
	if observation.Due(r.home.Memory(), time.Hour, r.now) {
		t.Fatal("a collection is due, which is not what is to be tried")
	}
	there := func() (list []string) {
		all, err := s.List(observation.Filter{Expired: true})
		r.must(err)
		for _, e := range all {
			list = append(list, e.ID)
		}
		return list
	}
	run := func(label string) {
		a, _ := r.agent(unsynced{disk.OS{}}, act("effect", `{"label":"`+label+`"}`), act("done", `{"summary":"seen"}`))
		a.Observations = opt
		rep, err := a.RunOnce(context.Background())
		r.must(err)
		r.must(rep.Err)
		r.now = r.now.Add(time.Minute)
	}
	run("small")
	if n := len(there()); n != 2 || !disk.Exists(orphan) {
		t.Errorf("a cycle that parks nothing left %d entries, orphan %v", n, disk.Exists(orphan))
	}
	run(strings.Repeat("large ", 2000))
	left := strings.Join(there(), " ")
	if strings.Contains(left, expired) || !strings.Contains(left, living) || disk.Exists(orphan) {
		t.Errorf("left are %s of the expired %s and the living %s; the orphan is there: %v", left, expired, living, disk.Exists(orphan))
	}
	r.must(s.Close())
	ids, err := r.home.Cycles(1)
	r.must(err)
	log, err := os.ReadFile(r.home.Log(ids[0]))
	r.must(err)
	if want := "expired observations were removed, entries=1, orphaned_files=1, bytes="; !strings.Contains(string(log), want) {
		t.Errorf("the log does not say %q:\n%s", want, log)
	}
}
