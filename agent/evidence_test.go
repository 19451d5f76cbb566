package agent

import (
	"fmt"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad/observation"
)

// TestEvidenceOfWhatChanged: a quote is looked up in what a step gave and in nothing that
// stands in its place.
func TestEvidenceOfWhatChanged(t *testing.T) {
	r := newRig(t, "", "notes: see\n")
	r.must(r.home.MakeFolders(disk.OS{}))
	store, err := observation.Open(r.home.Memory(), observation.Options{})
	r.must(err)
	defer store.Close()
	turn, err := store.Begin("20261122_000000", proc.Self())
	r.must(err)
	w := turn.Create(observation.Origin{Step: 1, Executor: "shell"})
	fmt.Fprint(w, "12 files")
	kept, err := w.Commit(nil)
	r.must(err)
	r.must(turn.End())
	a := again{home: r.home}
	defer a.close()
	for sum, want := range map[string]bool{"": true, kept.SHA256: true, fmt.Sprintf("%x", sha256Of("11 files")): false} {
		in, err := a.open(&journal.Result{ScratchpadID: kept.ID, SHA256: sum})
		if (err == nil) != want {
			t.Errorf("a journal that says %q: %v", sum, err)
		}
		if err == nil {
			in.Close()
		}
	}
}
