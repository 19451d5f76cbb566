package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
)

// settle puts to sleep the newest cycle if it never slept, and gives its id or "".
func (a *Agent) settle() (string, error) {
	newest, err := a.Home.Newest()
	if err != nil {
		return "", err
	}
	return a.settleIf(newest)
}

// settleIf settles a cycle, unless it slept or has no journal: it ends the
// processes that the cycle left, rebuilds the state that it had reached, and
// finishes its sleep. It gives the cycle's id, or "" where there was nothing to
// do. It may be killed at any point and is then done again by the next wake.
func (a *Agent) settleIf(id string) (string, error) {
	if id == "" || !exists(a.Home.Journal(id)) {
		return "", nil
	}
	last, err := journal.Last(a.Home.Journal(id))
	if err != nil || last.Event == "sleep" {
		return "", err
	}
	if err := a.settleCycle(id); err != nil {
		return "", fmt.Errorf("settle cycle %s: %w", id, err)
	}
	return id, nil
}

func (a *Agent) settleCycle(id string) error {
	t, err := readTrace(a.Home.Journal(id))
	if err != nil {
		return err
	}
	if _, err := proc.EndLeftovers(t.mark, t.started, t.owner); err != nil {
		return err
	}
	if err := a.sweep(t); err != nil {
		return err
	}
	if _, _, err := a.Home.Load(); err != nil {
		return err // to be mended by the operator before anything is decided
	}
	c, err := a.reopen(id, t)
	if err != nil {
		return err
	}
	defer c.journal.Close()
	if err := a.rebuild(c, t); err != nil {
		return err // the next wake says so again, until it is mended or reset
	}
	switch {
	case c.base == nil && t.iterations == 0:
		return a.giveUp(c, "interrupted before it began")
	case c.base == nil:
		return a.giveUp(c, "interrupted, and its memory was removed; "+t.unknown())
	}
	_, err = a.finish(c, t.ending(id), t.took)
	return err
}

// giveUp lets a cycle count as settled though its state was not saved.
func (a *Agent) giveUp(c *cycle, why string) error {
	end := &journal.Sleep{Outcome: journal.Failed, Exit: 1, Error: why, Trust: c.trust}
	return cmp.Or(c.journal.Append(end), c.journal.Sync())
}

// reopen opens the journal of an interrupted cycle to go on with it.
func (a *Agent) reopen(id string, t trace) (*cycle, error) {
	c := &cycle{
		id: id, baseHash: t.base, reopened: true, ended: t.end != nil, trust: t.trust,
	}
	c.iterations.Store(int64(t.iterations))
	c.used.Store(int64(t.tokens))
	var err error
	c.journal, err = journal.Resume(a.disk(), a.Home.Journal(id), id, a.now, t.seq)
	if err != nil {
		return nil, err
	}
	return c, a.attach(c)
}

// rebuild gives the cycle the state that it had reached. Its base stays nil if
// the cycle had not come so far as to keep a snapshot.
func (a *Agent) rebuild(c *cycle, t trace) error {
	base, err := a.base(c.id, t)
	if errors.Is(err, errLost) {
		return a.rebuildNotes(c)
	}
	if base == nil || err != nil {
		return err
	}
	after, err := a.Home.LoadFile(a.Home.After(c.id))
	if err == nil {
		c.base, c.state, c.ended = base, after, true
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	state := base.Clone()
	if err := journal.Rebuild(state, journal.Read(a.Home.Journal(c.id))); err != nil {
		return err
	}
	c.base, c.state = base, state
	return nil
}

// errLost says that _before is lost, and active.yaml no longer what it was.
var errLost = errors.New("the state as the cycle found it is lost")

// base is the state as the cycle found it: _before, or active.yaml where that is
// lost and this has not changed; nil where there was no _before yet.
func (a *Agent) base(id string, t trace) (*scratchpad.State, error) {
	base, err := a.Home.LoadFile(a.Home.Before(id))
	if err == nil {
		return base, nil
	}
	active, hash, loadErr := a.Home.Load()
	if loadErr == nil && hash == t.base && t.iterations > 0 {
		return active, nil
	}
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case hash != "" && t.iterations > 0:
		return nil, errLost
	}
	return nil, nil
}

// rebuildNotes adds what the cycle noted to active.yaml as it now is. What else
// the cycle changed cannot be told from an edit; its journal has it.
func (a *Agent) rebuildNotes(c *cycle) (err error) {
	if c.base, c.baseHash, err = a.Home.Load(); err != nil {
		return err
	}
	c.state = c.base.Clone()
	var notes strings.Builder
	for e, err := range journal.Read(a.Home.Journal(c.id)) {
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
	return c.state.Apply(appendNote(notes.String()))
}

// sweep removes the temporary files of writers that died: our own, and those of
// write_file calls that were under way.
func (a *Agent) sweep(t trace) error {
	dirs := []string{a.Home.Memory()}
	for _, i := range t.open {
		var args struct{ Path string }
		if i.Tool == "write_file" && json.Unmarshal(i.Args, &args) == nil && filepath.IsLocal(args.Path) {
			dirs = append(dirs, filepath.Join(a.Workspace, filepath.Dir(args.Path)))
		}
	}
	for _, dir := range dirs {
		if err := sweepFolder(a.disk(), dir); err != nil {
			return err
		}
	}
	return nil
}

func sweepFolder(f disk.FS, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if disk.IsTemp(e.Name()) {
			if err := f.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// trace is what the journal of an interrupted cycle tells of it.
type trace struct {
	base, mark string
	owner      proc.Identity
	started    []proc.Identity
	open       []journal.Intent // calls without a result
	end        *journal.End
	trust      *journal.Trust

	seq, iterations, tokens int
	took                    time.Duration
}

func readTrace(path string) (trace, error) {
	var t trace
	var first time.Time
	for e, err := range journal.Read(path) {
		if err != nil {
			return t, err
		}
		if first.IsZero() {
			first = e.Time
		}
		t.seq, t.took = max(t.seq, e.Seq), e.Time.Sub(first)
		t.add(e)
	}
	return t, nil
}

func (t *trace) add(e journal.Event) {
	switch d := e.Data.(type) {
	case *journal.Wake:
		t.base, t.mark, t.owner, t.trust = d.Base, d.Mark, d.Owner, d.Trust
	case *journal.Accepted:
		if t.trust != nil {
			t.trust.Set(d.Server, journal.TrustedServer{Tools: d.Tools})
		}
	case *journal.Request:
		t.iterations = d.Iteration
	case *journal.Reply:
		t.tokens += d.Usage.Input + d.Usage.Output
	case *journal.Intent:
		t.open = append(t.open, *d)
	case *journal.Started:
		t.started = append(t.started, d.Process)
	case *journal.Result:
		t.close(d.Step)
	case *journal.End:
		t.end = d
	}
}

func (t *trace) close(step int) {
	for i := range t.open {
		if t.open[i].Step == step {
			t.open = append(t.open[:i], t.open[i+1:]...)
			return
		}
	}
}

// ending is how the cycle ended, if it came to say so, else that it was
// interrupted.
func (t *trace) ending(id string) journal.End {
	if t.end != nil {
		return *t.end
	}
	return journal.End{
		Outcome: journal.Failed, Exit: 1, Error: "interrupted: the cycle ended without sleeping",
		Changes: []scratchpad.Change{appendNote(fmt.Sprintf("\n[INTERRUPTED] cycle %s ended without sleeping; %s", id, t.unknown()))},
	}
}

// unknown names the calls that had begun and have no result.
func (t *trace) unknown() string {
	if len(t.open) == 0 {
		return "no call was under way"
	}
	var calls []string
	for _, i := range t.open {
		calls = append(calls, fmt.Sprintf("step %d %s(%s)", i.Step, i.Tool, text.Line(string(i.Args), 300)))
	}
	return "outcome unknown, it may have run and is not repeated: " + strings.Join(calls, "; ")
}
