package observation

import (
	"strings"
	"testing"
	"time"
)

// People read what a cycle left for as long as its files stay; later turns, as ever,
// only what was kept, until its ttl.
func TestStay(t *testing.T) {
	now := newClock()
	s := openStore(t, "", Options{Now: now.now, Stay: 90 * 24 * time.Hour})
	done, failed := begin(t, s, "done"), begin(t, s, "failed")
	a, b := put(t, done, []byte("a")).ID, put(t, failed, []byte(strings.Repeat("large\n", 50_000))).ID
	must(t, done.Keep(a, "a label", time.Minute))
	must(t, done.EndFor(30*24*time.Hour))
	must(t, failed.End())
	now.pass(59 * time.Minute)
	later := begin(t, s, "later")
	get(t, later, a)
	now.pass(time.Minute)
	for _, id := range []string{a, b} {
		_, err := later.Get(id)
		wantNotFound(t, err)
		wantNotFound(t, later.Keep(id, "mine", time.Hour))
		_, err = s.Get(id)
		must(t, err)
	}
	if list, err := later.Kept(); err != nil || len(list) > 0 {
		t.Errorf("kept %v, %v", list, err)
	}
	if list, err := s.List(Filter{Kept: true}); err != nil || len(list) > 0 {
		t.Errorf("kept, as the next cycle would find it: %v, %v", list, err)
	}
	for days, want := range []int{0, 1, 1} {
		now.pass(time.Duration(days) * 30 * 24 * time.Hour)
		if st := collect(t, s).Entries; st != want {
			t.Errorf("after %d times 30 days %d entries went, want %d", days, st, want)
		}
	}
}

// A store that is full loses the oldest, however long they were to stay.
func TestStayWithinBytes(t *testing.T) {
	now := newClock()
	s := openStore(t, "", Options{Now: now.now, Stay: 90 * 24 * time.Hour, MaxBytes: 110})
	var ids []string
	for _, name := range []string{"one", "two", "three"} {
		turn := begin(t, s, name)
		ids = append(ids, put(t, turn, []byte(strings.Repeat(name, 13))).ID)
		must(t, turn.End())
		now.pass(2 * time.Hour)
	}
	_, err := s.Get(ids[0])
	wantNotFound(t, err)
	for _, id := range ids[1:] {
		_, err = s.Get(id)
		must(t, err)
	}
}
