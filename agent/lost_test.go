package agent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/agent/notify"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/mirror"
	"rouse/internal/proc"
	"rouse/journal"
)

// Whatever a lost machine had said of a cycle, settling it gives the memory that this
// comes to, says once what is not there, and repeats no call.
func TestSettleOfALostMachine(t *testing.T) {
	base := newRig(t, "", oldState)
	_, err := base.home.Raise(disk.OS{})
	base.must(err)
	there := copied(base, base.home.Dir+".there")
	a, _ := there.agent(unsynced{disk.OS{}}, whole...)
	_, err = a.RunOnce(t.Context())
	base.must(err)
	id := there.cycles()[0]
	lines := strings.SplitAfter(there.read(there.home.Journal(id)), "\n")
	for keep := 1; keep <= len(lines)-2; keep++ { // without the sleep
		r := copied(base, base.home.Dir+".here")
		had := strings.Join(lines[:keep], "")
		r.must(os.WriteFile(r.home.Journal(id), []byte(had), 0o600))
		r.must(os.WriteFile(r.home.Left(home.LostFile, id), nil, 0o600))
		a, _ := r.agent(unsynced{disk.OS{}})
		_, err := a.Settle()
		r.must(err)
		s, err := SummaryOf(r.home, id)
		if err != nil || s.Outcome != journal.Failed || !strings.Contains(s.Error, "its machine was lost") || len(r.ran) > 0 || disk.Exists(r.home.Left(home.LostFile, id)) {
			t.Errorf("%d lines: %+v, %v", keep, s, err)
		}
		if notes := r.state(r.home.Active()).Notes(); strings.Contains(had, `"event":"request"`) && strings.Count(notes, "[INTERRUPTED] cycle "+id) != 1 {
			t.Errorf("%d lines: %s", keep, notes)
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

// A cycle that is lost says nothing of how it ended: that does who has the home now.
func TestLostPingsNothing(t *testing.T) {
	for _, cause := range []error{mirror.ErrLost, errors.New("another")} {
		pings := make(chan string, 2)
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { pings <- r.URL.Path }))
		defer s.Close()
		a, _ := newRig(t, "", oldState).agent(disk.OS{}, whole...)
		a.Heartbeat = notify.Heartbeat{Target: s.URL}
		ctx, lose := context.WithCancelCause(t.Context())
		lose(cause)
		report, err := a.RunOnce(ctx)
		if is := cause == mirror.ErrLost; err != nil || <-pings != "/start" || is != (report.Outcome == journal.Lost) || is == (len(pings) > 0) {
			t.Errorf("%v: %+v, %v, %d more pings", cause, report, err, len(pings))
		}
	}
}
