package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad"
)

// A home lives through many cycles of all fates, and its history stays linear:
// each _before is the memory as it was last saved or edited, to the byte, each
// _after is its _before, or what a rewind puts back, with the changes of its journal,
// to the byte, ids rise, and no snapshot changes once it is written. A rewind puts back
// memory and files, and another undoes it.
func TestHistoryIsLinear(t *testing.T) {
	cycles := sweep.Of(150, 300, 10_000)
	h := &lifetime{
		rig: newRig(t, "", oldState), rnd: rand.New(rand.NewPCG(1, 2)),
		contents: map[string]string{}, faulted: map[string]bool{}, fates: map[string]int{},
	}
	h.wrote(h.home.Active())
	for range cycles {
		h.live()
	}
	h.settle()
	h.wakeAgain("at last")
	h.walk()
	t.Logf("violations 0 / %d snapshots, %d saves, %d edits and resets; starts: %v", len(h.contents), h.saves, h.edits, h.fates)
}

// lifetime is a home and a recorder of everything that becomes of its memory.
type lifetime struct {
	*rig
	rnd *rand.Rand
	// memory is what is on disk, "" where there is none.
	memory string
	// newest is the newest id, contents what each snapshot held when it was made.
	newest   string
	contents map[string]string
	faulted  map[string]bool // cycles whose journal met an error
	// mine is what an operator wrote, or "" for a file that was removed, since the
	// last cycle woke, if edited; fresh says that this one found no file.
	mine          string
	edited, fresh bool
	saves, edits  int
	fates         map[string]int
}

// recorder is the disk of a lifetime.
type recorder struct {
	unsynced
	h *lifetime
}

func (r recorder) Rename(from, to string) error {
	err := r.unsynced.Rename(from, to)
	switch {
	case err != nil:
	case from == r.h.home.Active():
		r.h.memory = ""
	case strings.HasSuffix(to, "_unproven.yaml") && r.h.faulted[home.CycleOf(filepath.Base(to))]:
		delete(r.h.contents, filepath.Base(from)) // the journal lost how the cycle ended, and the memory was edited
	case to == r.h.home.Active():
		r.h.saves++
		r.h.wrote(to)
		r.h.checkEdit()
	}
	return err
}

func (r recorder) Link(from, to string) error {
	err := r.unsynced.Link(from, to)
	if err == nil {
		r.h.snapshot(to)
	}
	return err
}

// wrote takes note of a new active.yaml.
func (h *lifetime) wrote(path string) { h.memory = h.read(path) }

// snapshot checks a snapshot as it is made: its id is new, or it is the _after of
// the newest one, and a _before is the memory as it is.
func (h *lifetime) snapshot(path string) {
	h.t.Helper()
	name := filepath.Base(path)
	if _, ok := h.contents[name]; ok {
		h.t.Fatalf("%s is written a second time", name)
	}
	h.contents[name] = h.read(path)
	id, isBefore := strings.CutSuffix(name, "_before.yaml")
	switch {
	case !isBefore && !strings.HasPrefix(name, h.newest):
		h.t.Fatalf("%s is written after %s", name, h.newest)
	case !isBefore:
	case id <= h.newest:
		h.t.Fatalf("cycle %s comes after %s", id, h.newest)
	case h.memory != "" && h.contents[name] != h.memory:
		h.t.Fatalf("%s is not the memory as it was: %q, want %q", name, h.contents[name], h.memory)
	case h.memory == "" && h.contents[name] != h.initial():
		h.t.Fatalf("%s is not the initial memory: %q", name, h.contents[name])
	}
	if isBefore {
		h.newest, h.edited, h.fresh = id, false, h.memory == ""
	}
}

// checkEdit wants what an operator wrote while a cycle ran, or was dead, to be in
// the memory that it saves; a file that was removed is not made again, unless
// there was none when the cycle woke.
func (h *lifetime) checkEdit() {
	h.t.Helper()
	if h.edited && (h.mine == "" && !h.fresh || !strings.Contains(h.memory, h.mine)) {
		h.t.Fatalf("cycle %s overwrote the edit %q with %q", h.newest, h.mine, h.memory)
	}
}

func (h *lifetime) initial() string {
	text, err := scratchpad.New().Bytes()
	h.must(err)
	return string(text)
}

// live is one start of a cycle, of a random fate.
func (h *lifetime) live() {
	h.now = h.now.Add(time.Duration(h.rnd.IntN(7200)-1800) * time.Second)
	if h.rnd.IntN(8) == 0 {
		h.edit()
	}
	if h.rnd.IntN(8) == 0 {
		h.file("mine", fmt.Sprint("of a person ", h.rnd.IntN(100)))
	}
	f := &disktest.Faulty{FS: recorder{unsynced{disk.OS{}}, h}}
	fate := h.fate(f)
	a := h.keeping(f, h.replies()...)
	m := a.Model.(*script)
	a.MaxIterations = 2 + h.rnd.IntN(4)
	if h.rnd.IntN(8) > 0 {
		a.Task = fmt.Sprintf("task %d", h.rnd.IntN(5))
	}
	if h.rnd.IntN(8) == 0 {
		at := h.rnd.IntN(3)
		m.during = func(i int) {
			if i == at {
				h.edit()
			}
		}
	}
	before := h.memory
	report, err := a.RunOnce(h.t.Context())
	h.check(f, before, report, err)
	if len(f.Fired()) == 0 && fate != "reset" {
		fate = report.Outcome
	}
	if errors.As(err, new(*Conflict)) {
		fate = "conflict"
	}
	h.fates[fate]++
	if h.rnd.IntN(40) == 0 {
		h.fates["reset"]++
		h.edits++
		a, _ := h.agent(recorder{unsynced{disk.OS{}}, h})
		if _, err := a.Reset(false); err != nil && !errors.As(err, new(*Conflict)) {
			h.t.Fatal(err)
		}
	}
	if h.rnd.IntN(15) == 0 {
		h.rewind()
	}
}

// settle ends what is interrupted, on a healthy disk.
func (h *lifetime) settle() *Agent {
	h.t.Helper()
	a := h.keeping(recorder{unsynced{disk.OS{}}, h})
	if _, err := a.Keeper.settle(); err != nil && !errors.As(err, new(*Conflict)) {
		h.t.Fatal(err)
	}
	return a
}

// rewind puts the home back to before a random cycle, which may fail or die as any
// other; one that went well is mostly undone.
func (h *lifetime) rewind() {
	h.t.Helper()
	healthy, ids := h.settle(), h.cycles()
	r := Rewind{Cycle: ids[h.rnd.IntN(len(ids))], Memory: h.rnd.IntN(3) > 0, Files: h.rnd.IntN(3) > 0}
	if h.memory == "" || !disk.Exists(h.home.Before(r.Cycle)) {
		return
	}
	was, tree := h.state(h.home.Active()), h.tree()
	f := &disktest.Faulty{FS: recorder{unsynced{disk.OS{}}, h}}
	h.fate(f)
	p, err := h.keeping(f).Rewind(r, true)
	if err != nil || p.Done == "" {
		h.fates["not rewound"]++ // what died is carried out by the next wake
		return
	}
	h.fates["rewound"]++
	left, err := healthy.plan(p.Rewind)
	if h.must(err); len(left.Changes) > 0 || len(left.Keys) > 1 || len(left.Keys) == 1 && left.Keys[0].Key != "notes" {
		h.t.Fatalf("%v: the rewind %+v left %+v", f.Fault, r, left)
	}
	if h.rnd.IntN(3) > 0 {
		undo, err := LastRewind(h.home)
		h.must(err)
		_, err = healthy.Rewind(undo, true)
		h.must(err)
		if now := h.state(h.home.Active()); h.tree() != tree || len(keysOf(was, now)) > 0 {
			h.t.Fatalf("the rewind %+v, undone, left\n%s\nof\n%s\nand the keys %q", r, h.tree(), tree, keysOf(was, now))
		}
		h.fates["undone"]++
	}
}

// fate sets the fault of a start: none mostly, else a crash or an error somewhere.
func (h *lifetime) fate(f *disktest.Faulty) string {
	all := disktest.Faults()
	switch h.rnd.IntN(4) {
	case 0:
		f.Fault = all[h.rnd.IntN(3)]
		f.Fault.At = 1 + h.rnd.IntN(60)
		return "crash"
	case 1:
		f.Fault = all[3+h.rnd.IntN(len(all)-3)]
		f.Fault.At = 1 + h.rnd.IntN(60)
		return "error"
	}
	return "none"
}

// replies are a few actions and, mostly, done.
func (h *lifetime) replies() (replies []string) {
	for range h.rnd.IntN(4) {
		switch h.rnd.IntN(5) {
		case 0:
			replies = append(replies, act("update_scratchpad", fmt.Sprintf(`{"fact":%d,"goals":["g%d"]}`, h.rnd.IntN(100), h.rnd.IntN(3))))
		case 1:
			replies = append(replies, act("update_scratchpad", fmt.Sprintf(`{"pending_actions":["p%d"],"notes":"short"}`, h.rnd.IntN(100))))
		case 2:
			replies = append(replies, "no action at all")
		case 3:
			replies = append(replies, write(fmt.Sprint("file", h.rnd.IntN(3)), fmt.Sprint(h.rnd.IntN(100))))
		default:
			replies = append(replies, act("effect", fmt.Sprintf(`{"label":"%d"}`, h.rnd.IntN(1000))))
		}
	}
	if h.rnd.IntN(4) > 0 {
		replies = append(replies, act("done", `{"summary":"seen"}`))
	}
	return replies
}

// edit is an operator who changes the file.
func (h *lifetime) edit() {
	h.edits++
	h.edited = true
	text := h.memory
	switch h.rnd.IntN(4) {
	case 0:
		h.mine = fmt.Sprintf("# edit %d", h.edits)
		text = h.mine + "\n" + text
	case 1:
		h.mine = fmt.Sprintf("edit_%d: true # mine", h.edits)
		text = strings.TrimRight(text, "\n") + "\n" + h.mine + "\n"
	case 2:
		h.mine = fmt.Sprintf("current_task: edited %d", h.edits)
		text = h.mine + "\nnotes: my own words\n"
	default:
		h.mine, text = "", ""
		h.must(ignoreMissing(os.Remove(h.home.Active())))
	}
	if text != "" {
		h.must(os.WriteFile(h.home.Active(), []byte(text), 0o600))
	}
	h.memory = text
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// check wants the memory on disk to be as it was recorded, and a cycle that
// went well to have saved it.
func (h *lifetime) check(f *disktest.Faulty, before string, report Report, err error) {
	h.t.Helper()
	for _, op := range f.Fired() {
		if id, ok := strings.CutSuffix(op, ".jsonl"); ok && !f.Fault.Mode.Crash() {
			h.faulted[id[len(id)-len(home.CycleForm):]] = true
		}
	}
	if got := h.active(); got != h.memory {
		h.t.Fatalf("%v: active.yaml was changed behind our back: %q", f.Fault, got)
	}
	if err != nil {
		return
	}
	now := h.state(h.home.Active())
	after := h.state(h.home.After(report.Cycle))
	if h.memory == before || now.LastUpdated() == "" {
		h.t.Fatalf("%v: cycle %s saved nothing", f.Fault, report.Cycle)
	}
	for _, key := range []string{"notes", "completed_tasks"} {
		ours, _ := after.Value(key)
		if got, _ := now.Value(key); fmt.Sprint(got) != fmt.Sprint(ours) {
			h.t.Fatalf("%v: cycle %s: %s was not saved", f.Fault, report.Cycle, key)
		}
	}
}

// walk goes through all snapshots as they are now.
func (h *lifetime) walk() {
	h.t.Helper()
	for name, text := range h.contents {
		if h.read(filepath.Join(h.home.Memory(), name)) != text {
			h.t.Fatalf("%s was changed after it was written", name)
		}
	}
	replayed := 0
	for _, id := range h.cycles() {
		if disk.Exists(h.home.Before(id)) != disk.Exists(h.home.After(id)) {
			h.t.Fatalf("cycle %s has half a pair of snapshots", id)
		}
		if disk.Exists(h.home.Before(id)) && h.replay(id) {
			replayed++
		}
	}
	h.t.Logf("%d cycles replayed to the byte", replayed)
}

// replay compares _after with _before and the journal's changes, unless the
// journal itself could not be written.
func (h *lifetime) replay(id string) bool {
	h.t.Helper()
	s := h.state(h.home.Before(id))
	var to *journal.Rewound
	for e, err := range journal.Read(h.home.Journal(id)) {
		switch d := e.Data.(type) {
		case *journal.Rewound:
			to = d
		case *journal.End:
			if h.must(err); to != nil && to.Memory != "" && d.Outcome == journal.Done {
				s = h.state(h.home.Before(to.To))
			}
		}
	}
	h.must(journal.Rebuild(s, journal.Read(h.home.Journal(id))))
	got, err := s.Bytes()
	h.must(err)
	if string(got) == h.read(h.home.After(id)) {
		return true
	}
	if h.faulted[id] {
		return false
	}
	h.t.Fatalf("cycle %s: _after is not _before with the journal's changes:\n%s\nwant\n%s", id, h.read(h.home.After(id)), got)
	return false
}
