package retention

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
)

// Logs that only grow, such as the notes that were dropped, are begun anew, and nothing
// of them is lost but what was old.
func TestGrown(t *testing.T) {
	f := newFarm(t)
	large := strings.Repeat("x", maxGrown)
	for name, text := range map[string]string{
		"due.log": large + "1", "proxy_big.jsonl": large, "proxy_small.jsonl": "{}", "proxy_linked.jsonl.1": "", "notes_dropped.log": large,
	} {
		f.write(filepath.Join(f.Logs, name), text, 0)
	}
	f.must(os.Symlink("notes_dropped.log", filepath.Join(f.Logs, "proxy_linked.jsonl")))
	for round := range 2 {
		if _, err := f.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(f.Logs)
		f.must(err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		want := "due.log.1 notes_dropped.log.1 proxy_big.jsonl.1 proxy_linked.jsonl proxy_linked.jsonl.1 proxy_small.jsonl retention"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
	}
	f.write(filepath.Join(f.Logs, "due.log"), large+"2", 0)
	r, err := f.Apply(t.Context())
	f.must(err)
	text, err := os.ReadFile(filepath.Join(f.Logs, "due.log.1"))
	f.must(err)
	if !strings.HasSuffix(string(text), "2") || r.Bytes != maxGrown+1 {
		t.Errorf("%+v, the old log ends in %q", r, text[len(text)-1:])
	}
	if size, err := f.Size(); err != nil || size.Logs < 3*maxGrown || size.Logs > 3*maxGrown+200 {
		t.Errorf("%+v, %v", size, err)
	}
}

// The index of searches goes where nobody has searched for as long as cycles are kept.
func TestIndex(t *testing.T) {
	f := newFarm(t)
	for age, stays := range map[time.Duration]bool{29 * day: true, 31 * day: false} {
		f.write(f.Home.Search(), "", age)
		_, err := f.Apply(t.Context())
		f.must(err)
		if disk.Exists(f.Home.Search()) != stays {
			t.Errorf("after %v it is the other way", age)
		}
	}
}
