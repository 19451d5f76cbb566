package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/agent/schedule"
	"rouse/internal/proc"
)

// good is a history in which all held: a worker died in the second cycle of a home, after its
// call had begun, and another one settled that.
func good(t *testing.T) History {
	every := NewWorld(t, t.TempDir(), 0, 0).Make(t.TempDir(), 1, "* * * * *")
	at := func(n int) time.Time { return time.Unix(int64(6000+60*n), 0) }
	owner := func(n int) *proc.Identity { return &proc.Identity{PID: n} }
	slot := func(n int, is schedule.Status) schedule.Record {
		r := schedule.Record{Event: "slot", Entry: "e", Slot: at(n), Status: is}
		if is == schedule.Running {
			r.Owner = owner(n)
		}
		return r
	}
	cycle := func(n int, c Call, said ...string) Cycle {
		return Cycle{ID: fmt.Sprint("c", n), Owner: *owner(n), Slept: true, Calls: []Call{c}, Said: said}
	}
	return History{
		Until: at(4), Last: "last",
		Homes: []Home{{
			Name: "home1", Epoch: 4, Schedule: every,
			Versions: []Version{
				{Epoch: 1, Memory: []string{"did_1"}, Journals: []string{"c1"}},
				{Epoch: 3, Memory: []string{"did_1"}, Journals: []string{"c1", "c2"}},
				{Epoch: 4, Maker: "b", Memory: []string{"did_1", "did_3"}, Journals: []string{"c1", "c2", "c3"}},
			},
			Ledger: []schedule.Record{
				{Event: "entry", Entry: "e", Slot: at(0)}, slot(1, schedule.Running), slot(1, schedule.Ran), slot(2, schedule.Running), slot(2, schedule.Unknown),
				slot(3, schedule.Running), slot(3, schedule.Late), {Event: "slot", Entry: "e", Slot: at(4), Last: at(5), Status: schedule.Missed},
			},
			Cycles: []Cycle{cycle(1, Call{ID: "call-1-1", Result: true}, "did_1"), cycle(2, Call{ID: "call-1-2", Named: true}), cycle(3, Call{ID: "call-1-3", Result: true}, "did_3")},
		}},
		Asked:    map[string]string{"call-1-1": "home1", "call-1-2": "home1", "call-1-3": "home1"},
		Mirrored: map[string]bool{"call-1-1": true, "call-1-2": true, "call-1-3": true},
		Effects:  []string{"call-1-1", "call-1-2", "call-1-3"},
		Taken:    []Taken{{"home1", 1, "a", at(1), true}, {"home1", 2, "a", at(2), false}, {"home1", 3, "b", at(3), true}, {"home1", 4, "b", at(4), true}},
		Deaths:   []Death{{"a", at(2).Add(time.Second), map[string]int64{"home1": 2}}},
	}
}

// TestCheck: a good history has no fault, and each fault that is put into one by hand is found.
func TestCheck(t *testing.T) {
	r := Check(good(t))
	if len(r.Faults) > 0 || r.Cycles != 3 || r.Unknown != 1 || r.Overlaps != 1 || len(r.Takeover) != 1 || r.Takeover[0] != 59*time.Second || r.Slots[schedule.Unknown] != 1 || r.Slots[schedule.Missed] != 1 {
		t.Errorf("%+v", r)
	}
	for want, spoil := range map[string]func(*History, *Home){
		"of epoch 4 by b, lacks of its memory [did_1]":       func(_ *History, h *Home) { h.Versions[2].Memory = []string{"did_3"} },
		"of epoch 4 by b, lacks of its journals [c2]":        func(_ *History, h *Home) { h.Versions[2].Journals = []string{"c1", "c3"} },
		"loss: the memory of home1 has no did_3":             func(_ *History, h *Home) { h.Versions[2].Memory = []string{"did_1"} },
		"loss: cycle c2 of home1 never ended":                func(_ *History, h *Home) { h.Cycles[1].Slept = false },
		"older epoch: home1 has version 3 of epoch 2":        func(_ *History, h *Home) { h.Versions[2].Epoch = 2 },
		"older epoch: home1 has version 3 of epoch 3":        func(_ *History, h *Home) { h.Versions[2].Epoch = 3 },
		"older epoch: home1 has version 3 of epoch 9":        func(_ *History, h *Home) { h.Versions[2].Epoch = 9 },
		"lost words: home1 has 2":                            func(_ *History, h *Home) { h.Lines = 2 },
		`of 1970-01-01 01:43:00 "running"`:                   func(_ *History, h *Home) { h.Ledger = slices.Delete(h.Ledger, 6, 7) },
		`of 1970-01-01 01:44:00 ""`:                          func(_ *History, h *Home) { h.Ledger = h.Ledger[:7] },
		"silence: home1 has no ledger":                       func(_ *History, h *Home) { h.Ledger = nil },
		"twice: cycles c2 and c3 of home1":                   func(_ *History, h *Home) { h.Cycles[2].Owner = h.Cycles[1].Owner },
		"twice: cycle c3 of home1 made calls, and its":       func(_ *History, h *Home) { h.Cycles[2].Owner.PID = 9 },
		"unnamed: cycle c2 of home1 does not say":            func(_ *History, h *Home) { h.Cycles[1].Calls[0].Named = false },
		"repeated: the call call-1-1 stands in two journals": func(_ *History, h *Home) { h.Cycles[2].Calls[0].ID = "call-1-1" },
		"repeated: the call call-1-3 had its effect twice":   func(h *History, _ *Home) { h.Effects = append(h.Effects, "call-1-3") },
		"ran, and no journal has it":                         func(h *History, _ *Home) { h.Effects = append(h.Effects, "call-1-4") },
		"ran, and the store never heard":                     func(h *History, _ *Home) { delete(h.Mirrored, "call-1-2") },
		"strange: home1 began the call call-1-1":             func(h *History, _ *Home) { h.Asked["call-1-1"] = "home2" },
		"strange: the call call-1-3 has a result":            func(h *History, _ *Home) { h.Effects = h.Effects[:2] },
		"silence: nobody took home1, which a held":           func(h *History, _ *Home) { h.Taken = h.Taken[:2] },
	} {
		h := good(t)
		spoil(&h, &h.Homes[0])
		if found := Check(h).Faults; !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("%s: found %q", want, found)
		}
	}
	lost := good(t) // its last call was never handed over, and did not begin
	lost.Homes[0].Cycles[1].Lost, lost.Homes[0].Cycles[1].Calls[0].Named = true, false
	if found := Check(lost).Faults; len(found) != 1 {
		t.Errorf("a call ran in a lost cycle that does not say so: %q", found)
	}
	if lost.Effects = slices.Delete(lost.Effects, 1, 2); len(Check(lost).Faults) > 0 {
		t.Errorf("%q", Check(lost).Faults)
	}
	mend := good(t)
	mend.Taken[1].Ended = true // before it died: then nobody had to take it
	if r := Check(mend); len(r.Takeover) > 0 || len(r.Faults) > 0 {
		t.Errorf("%+v", r)
	}
}
