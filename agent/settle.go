package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad"
)

// Settle puts to sleep the newest cycle if it never slept, and gives its id or "". It fails
// with [home.ErrAwake] while somebody holds the home.
func (k *Keeper) Settle() (string, error) {
	if err := k.Home.MakeFolders(k.disk()); err != nil {
		return "", err
	}
	unlock, err := k.Home.Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	return k.settle()
}

// settle puts to sleep the newest cycle if it never slept, and gives its id or "".
func (k *Keeper) settle() (string, error) {
	newest, err := k.Home.Newest()
	if err != nil {
		return "", err
	}
	seal, err := k.seal()
	if err != nil {
		return "", err
	}
	return k.settleIf(newest, &seal)
}

// settleIf settles a cycle, unless it slept or has no journal: it ends the
// processes that the cycle left, rebuilds the state that it had reached, and
// finishes its sleep. It gives the cycle's id, or "" where there was nothing to
// do. It may be killed at any point and is then done again by the next wake.
func (k *Keeper) settleIf(id string, s *seal) (string, error) {
	if id == "" || !disk.Exists(k.Home.Journal(id)) {
		return "", nil
	}
	slept, err := journal.Slept(k.Home.Journal(id), journal.NewChain(s.key, id))
	if err != nil || slept {
		return "", err
	}
	if err := k.settleCycle(id, s); err != nil {
		return "", fmt.Errorf("settle cycle %s: %w", id, err)
	}
	for _, kind := range []home.Kind{home.FullFile, home.LostFile} {
		if word := k.Home.Left(kind, id); disk.Exists(word) {
			_ = k.disk().Remove(word) // it goes with the journal else
		}
	}
	return id, nil
}

// full is err in words that say the mend, where the disk is full.
func (k *Keeper) full(err error) error { return disk.Full(err, k.Home.Dir) }

// unslept leaves word of why a cycle did not sleep, where that is a full disk: an
// empty file, as its journal cannot say so.
func (k *Keeper) unslept(id string, err error) {
	if !errors.As(k.full(err), new(*disk.FullError)) {
		return
	}
	if f, err := k.disk().OpenFile(k.Home.Left(home.FullFile, id), os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
}

func (k *Keeper) settleCycle(id string, s *seal) error {
	t, err := k.readTrace(id, s.key)
	if err != nil {
		return err
	}
	t.full = disk.Exists(k.Home.Left(home.FullFile, id))
	if _, err := proc.EndLeftovers(t.mark, t.started, t.owner); err != nil {
		return err
	}
	if err := k.sweep(t); err != nil {
		return err
	}
	if _, _, err := k.Home.Load(); err != nil {
		return err // to be mended by the operator before anything is decided
	}
	if err := k.keepKey(s); err != nil {
		return err
	}
	c, err := k.reopen(id, t)
	if err != nil {
		return err
	}
	defer c.journal.Close()
	if err := c.tellDoubt(t); err != nil || t.slept != nil {
		return err
	}
	if err := c.tellLost(t); err != nil {
		return err
	}
	if err := k.rebuild(c, t); err != nil {
		return err // the next wake says so again, until it is mended or reset
	}
	switch {
	case c.base == nil && !t.began():
		return k.giveUp(c, Unbegun+t.why())
	case c.base == nil:
		return k.giveUp(c, "interrupted, and its memory was removed; "+t.unknown())
	}
	_, err = k.finish(c, k.ending(c, &t), journal.Sleep{Ms: t.took.Milliseconds()})
	return err
}

// giveUp lets a cycle count as settled though its state was not saved.
func (k *Keeper) giveUp(c *record, why string) error {
	end := &journal.Sleep{Outcome: journal.Failed, Exit: 1, Error: why, Unproven: c.unproven, Trust: c.trust,
		Task: journal.TaskNone, FailedCalls: c.calls.Failed, RefusedCalls: c.calls.Refused, Unsupported: c.calls.Unsupported, Refused: c.calls.Sandbox}
	return cmp.Or(c.journal.Append(end), c.journal.Sync())
}

// reopen opens the journal of an interrupted cycle to go on with it.
func (k *Keeper) reopen(id string, t trace) (*record, error) {
	c := &record{
		id: id, baseHash: t.base, reopened: true, open: len(t.open) > 0, ended: t.end != nil, unproven: len(t.doubts), trust: t.trust, calls: t.calls, tidied: t.tidied, took: t.letters, effects: t.effects, cells: t.cells, version: t.version, rewind: t.rewind,
		left: &left{sums: t.made}, origins: t.origins, unkept: t.unkept,
	}
	if k.Sources != nil {
		c.origins = c.origins.With(cutOff(t.open)...)
	}
	c.iterations.Store(int64(t.iterations))
	c.used.Store(int64(t.tokens))
	var err error
	c.journal, err = journal.Resume(k.disk(), k.Home.Journal(id), t.chain, k.now)
	if err != nil {
		return nil, err
	}
	return c, k.attach(c)
}

// rebuild gives the cycle the state that it had reached. Its base stays nil if
// the cycle had not come so far as to keep a snapshot.
func (k *Keeper) rebuild(c *record, t trace) error {
	base, err := k.base(c.id, t)
	if errors.Is(err, errLost) {
		return k.rebuildNotes(c, t)
	}
	if base == nil || err != nil {
		return err
	}
	if after := k.saved(c); after != nil {
		c.base, c.state, c.ended = base, after, true
		return nil
	}
	state := k.rewound(base, t)
	if err := journal.Rebuild(state, k.proven(c.id, t)); err != nil {
		return err
	}
	c.base, c.state = base, state
	return nil
}

// saved is the cycle's _after where active.yaml holds just that since: the journal
// may have lost its end with the power. Before it was saved, a tool may have written
// an _after of its own; then the journal alone says what the cycle had reached.
func (k *Keeper) saved(c *record) *scratchpad.State {
	after, err := k.Home.LoadFile(k.Home.After(c.id))
	if err != nil {
		return nil
	}
	active, hash, err := k.Home.Load()
	if err != nil || hash == "" || hash == c.baseHash || !scratchpad.Equal(active, after) {
		return nil
	}
	return after
}

// errLost says that _before is lost, and active.yaml no longer what it was.
var errLost = errors.New("the state as the cycle found it is lost")

// base is the state as the cycle found it: _before, or active.yaml where that is
// lost or was changed, and this has not changed; nil where there was no _before yet.
func (k *Keeper) base(id string, t trace) (*scratchpad.State, error) {
	if !t.awake && len(t.doubts) > 0 {
		return nil, errLost // nothing says what it was
	}
	base, err := k.Home.LoadFile(k.Home.Before(id))
	changed := err == nil && t.base != "" && base.Hash() != t.base
	if err == nil && !changed {
		return base, nil
	}
	active, hash, loadErr := k.Home.Load()
	if loadErr == nil && hash == t.base && t.began() {
		return active, nil
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case hash != "" && (t.began() || changed):
		return nil, errLost
	}
	return nil, nil
}

// rebuildNotes adds what the cycle noted to active.yaml as it now is. What else
// the cycle changed cannot be told from an edit; its journal has it.
func (k *Keeper) rebuildNotes(c *record, t trace) (err error) {
	if c.base, c.baseHash, err = k.Home.Load(); err != nil {
		return err
	}
	c.state, c.took = c.base.Clone(), nil // what was told is told again
	var notes strings.Builder
	for e, err := range k.proven(c.id, t) {
		if err != nil {
			return err
		}
		for _, change := range journal.Changes(e) {
			if text, ok := change.Value.(string); ok && change.Op == scratchpad.OpAppend && change.Key == "notes" {
				notes.WriteString(text)
			}
		}
	}
	if strings.Contains(c.base.Notes(), notes.String()) { // saved before it was interrupted again
		return nil
	}
	err = c.state.Apply(appendNote(notes.String()))
	if errors.Is(err, scratchpad.ErrFull) {
		return nil // the journal has it
	}
	return err
}

// proven are the events of a cycle that its journal's chain proves.
func (k *Keeper) proven(id string, t trace) iter.Seq2[journal.Event, error] {
	return journal.Proven(journal.Check(k.Home.Journal(id), journal.NewChain(t.key, id)))
}

// sweep removes the temporary files of writers that died: our own, and those of
// write_file calls that were under way.
func (k *Keeper) sweep(t trace) error {
	dirs := []string{k.Home.Memory()}
	for _, i := range t.open {
		var args struct{ Path string }
		if i.Tool == "write_file" && json.Unmarshal(i.Args, &args) == nil && filepath.IsLocal(args.Path) {
			dirs = append(dirs, filepath.Join(k.Workspace, filepath.Dir(args.Path)))
		}
	}
	for _, dir := range dirs {
		if err := disk.Sweep(k.disk(), dir, ""); err != nil {
			return err
		}
	}
	return nil
}
