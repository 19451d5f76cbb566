package agent

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/journal"
)

// lostRig is a home as it was before a cycle of which another machine had as many lines as
// keep says, the lines, and the cycle.
func lostRig(t *testing.T, keep int) (r *rig, lines [][]byte, id string) {
	r = newRig(t, "", oldState)
	_, err := r.home.Raise(disk.OS{})
	r.must(err)
	there := copied(r, r.home.Dir+".there")
	a, _ := there.agent(unsynced{disk.OS{}}, whole...)
	_, err = a.RunOnce(t.Context())
	r.must(err)
	id = there.cycles()[0]
	lines = bytes.SplitAfter([]byte(there.read(there.home.Journal(id))), []byte("\n"))
	lines = lines[:len(lines)-2] // without the sleep
	r.must(os.WriteFile(r.home.Journal(id), bytes.Join(lines[:min(keep, len(lines))], nil), 0o600))
	r.must(os.WriteFile(r.home.Left(home.LostFile, id), nil, 0o600))
	r.now, r.ran = there.now, there.ran
	return r, lines, id
}

// Whatever a lost machine had said of a cycle, settling it gives the memory that this
// comes to, says once what is not there, and repeats no call.
func TestSettleOfALostMachine(t *testing.T) {
	for keep, most := 1, 2; keep <= most; keep++ {
		r, lines, id := lostRig(t, keep)
		most = len(lines)
		ran := len(r.ran)
		a, _ := r.agent(unsynced{disk.OS{}})
		_, err := a.Settle()
		r.must(err)
		s, err := SummaryOf(r.home, id)
		if err != nil || s.Outcome != journal.Failed || !strings.Contains(s.Error, "its machine was lost") || len(r.ran) != ran || disk.Exists(r.home.Left(home.LostFile, id)) {
			t.Errorf("%d lines: %+v, %v", keep, s, err)
		}
		began := bytes.Contains(bytes.Join(lines[:keep], nil), []byte(`"event":"request"`))
		if notes := r.state(r.home.Active()).Notes(); strings.Count(notes, "[INTERRUPTED] cycle "+id) != 1 && began {
			t.Errorf("%d lines: %s", keep, notes)
		}
		if again, err := a.Settle(); again != "" || err != nil {
			t.Errorf("%d lines: settled again: %v", keep, err)
		}
	}
}

// The processes of another machine are never looked for by their numbers, which are others'
// here.
func TestLostEndsNoProcess(t *testing.T) {
	r := newRig(t, "", oldState)
	key, err := r.home.Raise(disk.OS{})
	r.must(err)
	const id = "20260401_150154"
	w, err := journal.Create(disk.OS{}, r.home.Journal(id), journal.NewChain(key, id), func() time.Time { return begun })
	r.must(err)
	self := proc.Self()
	r.must(w.Append(&journal.Wake{Owner: self, Mark: "mark"}))
	r.must(w.Append(&journal.Started{Process: self}))
	r.must(w.Close())
	a, _ := r.agent(disk.OS{})
	if got, err := a.readTrace(id, key); err != nil || len(got.started) != 1 || got.owner != self {
		t.Errorf("%+v, %v", got, err)
	}
	r.must(os.WriteFile(r.home.Left(home.LostFile, id), nil, 0o600))
	if got, err := a.readTrace(id, key); err != nil || len(got.started) > 0 || got.owner != (proc.Identity{}) || got.mark != "mark" {
		t.Errorf("lost: %+v, %v", got, err)
	}
}
