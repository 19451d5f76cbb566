package observation

import (
	"strings"
	"testing"
	"time"
)

// A content that later turns want as well is there once, whoever asks for it, and what
// stood in its place before goes.
func TestLasting(t *testing.T) {
	clock := newClock()
	s := openStore(t, "", Options{Now: clock.now})
	old, grown := numbered(50_000), append(numbered(50_000), "more\n"...)
	const month = 30 * 24 * time.Hour
	var first, last string
	for i, data := range [][]byte{old, old, old, grown, grown} {
		turn := begin(t, s, strings.Repeat("x", i+1))
		id, err := turn.Lasting(Origin{Executor: "state notes"}, data, month)
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0:
			first = id
		case 3:
			if last = id; id == first {
				t.Error("another content has the same id")
			}
		default:
			if want := map[bool]string{true: first, false: last}[i < 3]; id != want {
				t.Errorf("turn %d: parked anew", i)
			}
		}
		checkWhole(t, get(t, turn, id), data)
		if err := turn.End(); err != nil {
			t.Fatal(err)
		}
		clock.pass(24 * time.Hour)
		collect(t, s)
		if n := len(files(t, s.dir)); n != 1 && i != 3 {
			t.Errorf("after turn %d there are %d files", i, n)
		}
	}
	wantNotFound(t, func() error { _, err := s.Get(first); return err }())
	clock.pass(month)
	if st := collect(t, s); st.Entries != 1 {
		t.Errorf("%d entries went after a month", st.Entries)
	}
}
