package agent

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad"
)

// A whole cycle, with every fault at every one of its writes: the memory is old
// or new and never between, no fault is taken for success, and the next wake
// goes on with all that the cycle had learned.
func TestEveryFaultOfACycle(t *testing.T) {
	base := t.TempDir()
	runs, harmless, told := 0, 0, 0
	points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		runs++
		dir := filepath.Join(base, fmt.Sprint(runs))
		r := newRig(t, dir, oldState)
		f.FS = unsynced{disk.OS{}}
		a, m := r.agent(f, whole...)
		report, err := a.RunOnce(t.Context())
		switch {
		case len(f.Fired()) == 0:
		case err == nil && report.Exit == 0:
			harmless++
			checkHarmless(t, r, f)
		default:
			told++
			checkTold(t, f, cmp.Or(err, report.Err))
		}
		checkOldOrSaved(t, r, f, err == nil)
		r.wakeAgain(f.Fault.String())
		checkSettled(t, r, m.asked, f.Fault.String())
		r.must(os.RemoveAll(dir))
	})
	t.Logf("torn 0 / %d points, silent successes 0, wedged 0, lost records 0; faults fired %d: told %d, harmless %d", points, points, told, harmless)
}

// faults are all kinds of fault if nothing is to be left out, else all crashes and
// all that can come of one error, and each other error in one way.
func faults() []disktest.Fault {
	all := disktest.Faults()
	if sweep.Full() {
		return all
	}
	some := all[:9:9]
	for i := 9; i < len(all); i += 7 { // 6 of each error
		some = append(some, all[i])
	}
	return some
}

// checkHarmless accepts a success in spite of a fault only where a file could not
// be closed, or a copy of what the cycle was made of not be kept and the journal
// says so, and everything is in place.
func checkHarmless(t *testing.T, r *rig, f *disktest.Faulty) {
	t.Helper()
	id := r.cycles()[0]
	events := r.events(id)
	said := slices.ContainsFunc(events, func(e journal.Event) bool {
		w, ok := e.Data.(*journal.Warning)
		return ok && strings.HasPrefix(w.Text, "keep copies: ")
	})
	for _, op := range f.Fired() {
		if !strings.HasPrefix(op, "close ") && !(said && strings.Contains(op, r.home.Made())) {
			t.Fatalf("%v: silent success, at %q", f.Fault, op)
		}
	}
	if e := events[len(events)-1]; e.Event != "sleep" || e.Data.(*journal.Sleep).Outcome != journal.Done {
		t.Fatalf("%v: success, and the journal ends with %+v", f.Fault, e)
	}
	if notes := r.state(r.home.Active()).Notes(); !strings.HasSuffix(notes, "[COMPLETED] seen") {
		t.Fatalf("%v: success, and the notes are %q", f.Fault, notes)
	}
}

var tempName = regexp.MustCompile(`^\.(.+)\.[0-9a-f]{8}\.tmp$`)

// checkTold wants the error to name the file and the cause.
func checkTold(t *testing.T, f *disktest.Faulty, err error) {
	t.Helper()
	text := fmt.Sprint(err)
	cause := f.Fault.Err.Error()
	if f.Fault.Mode.Crash() {
		cause = disktest.ErrCrashed.Error()
	}
	named := f.Fault.Mode.Crash()
	for _, op := range f.Fired() {
		file := filepath.Base(strings.Fields(op)[1])
		if m := tempName.FindStringSubmatch(file); m != nil {
			file = m[1]
		}
		named = named || strings.Contains(text, file)
	}
	if !named || !strings.Contains(text, cause) || strings.Contains(text, "\n") {
		t.Errorf("%v at %q is told as %q", f.Fault, f.Fired(), text)
	}
}

// checkOldOrSaved wants active.yaml to be what it was, to the byte, or what the
// cycle's snapshot says that it became; the latter if that was acknowledged.
func checkOldOrSaved(t *testing.T, r *rig, f *disktest.Faulty, acknowledged bool) {
	t.Helper()
	if r.active() == oldState && !acknowledged {
		return
	}
	active := r.state(r.home.Active())
	if !scratchpad.Equal(active, r.state(r.home.After(r.cycles()[0]))) {
		t.Fatalf("%v at %q: torn: active.yaml is neither old nor new: %q", f.Fault, f.Fired(), r.active())
	}
}

// checkSettled wants, after the next wake, all that a cycle had learned whose
// model was asked so often.
func checkSettled(t *testing.T, r *rig, asked int, context string) {
	t.Helper()
	r.checkSettled(context)
	s := r.state(r.home.Active())
	for i, label := range []string{"a", "b"} {
		done, unknown := told(s.Notes(), label)
		ran := len(r.ran) > i
		if ran && done+unknown != 1 || done > 0 && !ran {
			t.Fatalf("%s: call %s: ran %v, told %d times as done and %d times as unknown:%s", context, label, ran, done, unknown, s.Notes())
		}
		if asked > 2*i+1 && done != 1 {
			t.Fatalf("%s: call %s was answered, and is lost:%s", context, label, s.Notes())
		}
	}
	if _, ok := s.Value("fact"); asked > 2 && !ok {
		t.Fatalf("%s: what the model wrote is lost", context)
	}
	if text := r.active(); !strings.HasPrefix(text, "# what a person wrote\ngoals:   [ \"see the house\" ]  # always\n") || !strings.Contains(text, "rooms: {north: 012}") {
		t.Fatalf("%s: what a person wrote is lost: %q", context, text)
	}
}
