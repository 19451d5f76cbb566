package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
)

// Checked is how many of the newest journals are checked and vouched for.
const Checked = 20

// Vouched is what came of it that a person vouched for lines of a cycle's journal
// that are not proven.
type Vouched struct {
	Cycle string
	journal.Vouched
	Slept bool   // the cycle had applied them itself
	Place string // the file with what was not applied, "" where all was
}

// String says it in one line for people.
func (v Vouched) String() string {
	line := text.Count(v.Lines, "unproven line") + " of cycle " + v.Cycle + ": "
	switch {
	case v.Slept:
		return line + "it slept, and the memory is as it left it"
	case len(v.Kept) > 0:
		return line + fmt.Sprintf("nothing is applied, as the memory does not take it (%s); see %s", text.Line(strings.Join(v.Kept, ", "), 200), v.Place)
	case len(v.Applied) == 0:
		return line + "they change nothing in the memory"
	}
	return line + "applied to the memory (" + text.Line(strings.Join(v.Applied, ", "), 200) + ")"
}

// Vouch applies to the memory what the newest journals say without a proof, by the
// rule of edits by hand, and counts it as proven from then on. It settles an
// interrupted cycle first. It may be killed at any point and be done again: the
// memory is saved before the journal says so, and what it has already is not applied
// twice. It fails with [home.ErrAwake] while a cycle is awake.
func (k *Keeper) Vouch() (list []Vouched, err error) {
	if _, found, err := doubted(k.Home, Checked); err != nil || len(found) == 0 {
		return nil, err
	}
	unlock, err := k.Home.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := k.settle(); err != nil && !errors.As(err, new(*Conflict)) {
		return nil, err
	}
	if err := disk.Sweep(k.disk(), k.Home.Memory(), ""); err != nil {
		return nil, err
	}
	_, found, err := doubted(k.Home, Checked)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		v, err := k.vouch(d.id)
		if err != nil {
			return list, fmt.Errorf("accept cycle %s: %w", d.id, err)
		}
		list = append(list, v)
	}
	return list, nil
}

// vouch vouches for the journal of one cycle.
func (k *Keeper) vouch(id string) (v Vouched, err error) {
	key, err := k.Home.Key()
	if err != nil {
		return v, err
	}
	t, err := k.readTrace(id, key)
	if err != nil {
		return v, err
	}
	end := asleep(t)
	v = Vouched{Cycle: id, Vouched: journal.Vouched{Lines: len(t.gathered), Sum: t.gathered.Sum()}}
	if v.Slept = !t.awake && claimed(t.gathered) != nil; !v.Slept {
		err = k.takeOver(&v, t.gathered)
	}
	if err != nil {
		return v, err
	}
	c, err := k.reopen(id, t)
	if err != nil {
		return v, err
	}
	defer c.journal.Close()
	end.Unproven, end.Vouched = 0, &v.Vouched
	return v, cmp.Or(c.journal.Append(&end), c.journal.Sync())
}

// asleep is the sleep of a cycle, as far as it is known. What one that is not proven
// relied on is not vouched for with it.
func asleep(t trace) journal.Sleep {
	if t.slept != nil {
		return *t.slept
	}
	if s := claimed(t.gathered); s != nil {
		end := *s
		end.Trust, end.Left, end.Changed = nil, nil, nil
		return end
	}
	return journal.Sleep{Outcome: journal.Failed, Exit: 1, Error: "it never slept", Task: journal.TaskNone}
}

// claimed is the last sleep of lines that are not proven, or nil.
func claimed(lines journal.Doubts) (s *journal.Sleep) {
	for _, l := range lines {
		if d, ok := l.Data.(*journal.Sleep); ok {
			s = d
		}
	}
	return s
}

// takeOver merges what lines say into the memory. What the notes got is added to
// them at their end, wherever that is by now; of all else nothing is applied where
// the memory changed as well, and the cycle's result is put beside it.
func (k *Keeper) takeOver(v *Vouched, lines journal.Doubts) error {
	base, err := k.Home.LoadFile(k.Home.After(v.Cycle))
	if errors.Is(err, fs.ErrNotExist) {
		base, err = scratchpad.New(), nil // so that whatever differs is a conflict
	}
	if err != nil {
		return err
	}
	ours := base.Clone()
	notes, refused := retell(ours, lines)
	for {
		v.Kept = refused
		err := k.takeOverOnce(v, [2]*scratchpad.State{base, ours}, notes)
		if !errors.Is(err, ErrEdited) {
			return err
		}
	}
}

func (k *Keeper) takeOverOnce(v *Vouched, states [2]*scratchpad.State, notes string) error {
	base, ours := states[0], states[1]
	theirs, hash, err := k.Home.Load()
	if err != nil {
		return err
	}
	merged, conflicts := scratchpad.Merge(base, ours, theirs)
	if merged != nil && !strings.Contains(merged.Notes(), notes) && merged.Apply(appendNote(notes)) != nil {
		conflicts = []string{"notes"} // the memory is full
	}
	if v.Kept, v.Applied = append(v.Kept, conflicts...), nil; len(v.Kept) > 0 {
		return k.putBeside(v, ours, notes)
	}
	if v.Applied = keysOf(theirs, merged); len(v.Applied) == 0 {
		return nil
	}
	return merged.Save(unlessEdited{k.disk(), k.Home, hash}, k.Home.Active(), k.now())
}

// retell applies what lines say to a state, but for what they add to the notes,
// and names the keys of changes that no memory takes.
func retell(s *scratchpad.State, lines journal.Doubts) (added string, refused []string) {
	var notes strings.Builder
	for _, l := range lines {
		for _, change := range journal.Changes(l.Event) {
			note, ok := change.Value.(string)
			if ok && change.Op == scratchpad.OpAppend && change.Key == "notes" {
				notes.WriteString(note)
				continue
			}
			if s.Apply(change) != nil && !slices.Contains(refused, change.Key) {
				refused = append(refused, change.Key)
			}
		}
	}
	return notes.String(), refused
}

// putBeside keeps, as a file, what the memory does not take over.
func (k *Keeper) putBeside(v *Vouched, ours *scratchpad.State, notes string) error {
	if notes != "" {
		_ = ours.Apply(appendNote(notes)) // the journal has it in any case
	}
	path := k.Home.Unproven(v.Cycle)
	if disk.Exists(path) { // an _after that was not believed
		v.Place = k.Home.Rel(k.Home.Journal(v.Cycle))
		return nil
	}
	v.Place = k.Home.Rel(path)
	return ours.Snapshot(k.disk(), path)
}
