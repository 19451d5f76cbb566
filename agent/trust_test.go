package agent

import (
	"context"
	"errors"
	"testing"

	"rouse/agent/trust"
	"rouse/internal/disk"
	"rouse/journal"
)

// A server whose tools were accepted when it was first seen is known to the next
// cycle although it killed the one that saw it.
func TestKilledCycleHasSeenTheServer(t *testing.T) {
	r := newRig(t, "", oldState)
	a, m := r.agent(unsynced{disk.OS{}}, whole...)
	a.Boxes = []OpenBox{func(_ context.Context, host Host) Box {
		if known := host.Known("notes"); known != nil {
			t.Errorf("known before it was seen: %q", known)
		}
		host.Accepted("notes", "t1")
		return Box{}
	}}
	m.during = func(i int) { panic("killed") }
	crash(func() { a.RunOnce(t.Context()) })
	a, _ = r.agent(unsynced{disk.OS{}}, whole...)
	_, err := a.settle()
	r.must(err)
	last, err := journal.Last(r.home.Journal(r.cycles()[0]))
	r.must(err)
	if s := last.Data.(*journal.Sleep); s.Trust == nil || s.Trust.Servers["notes"].Tools != "t1" {
		t.Fatalf("it slept with %+v", s.Trust)
	}
	a.Boxes = []OpenBox{func(_ context.Context, host Host) Box {
		if known := host.Known("notes"); len(known) != 1 || known[0] != "t1" {
			t.Errorf("known after: %q", known)
		}
		return Box{}
	}}
	if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
		t.Fatal(report, err)
	}
}

// What another hand changed keeps a home from waking, without a trace but the
// refusal, and without the model's being asked.
func TestChangedAddressIsNotAsked(t *testing.T) {
	r := newRig(t, "", oldState)
	a, _ := r.agent(unsynced{disk.OS{}}, whole...)
	if _, err := a.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, m := r.agent(unsynced{disk.OS{}}, whole...)
	a.Found.BaseURL = "http://127.0.0.1:1"
	_, err := a.RunOnce(t.Context())
	if !errors.As(err, new(*trust.Changed)) || m.asked != 0 || len(r.cycles()) != 1 {
		t.Fatalf("%v, asked %d times in %d cycles", err, m.asked, len(r.cycles()))
	}
	if _, err := a.Preview(); !errors.As(err, new(*trust.Changed)) {
		t.Error(err)
	}
}
