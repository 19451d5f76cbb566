package agent

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"rouse/agent/history"
	"rouse/agent/inbox"
	"rouse/agent/pause"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/mirror"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// sleep ends the cycle as its run did.
func (a *Agent) sleep(w *woken, r ran) (Report, error) {
	end := w.proven(w.ending(r.err, a.Redact.Error(r.err)))
	if limit, ok := errors.AsType[*Limit](r.err); ok {
		// A journal that cannot be written is reported when the end is.
		_ = w.journal.Append(&journal.Limit{Name: limit.Name, Text: limit.Text})
	}
	a.wish(w.journal, r.nextWake)
	a.sendResults(w, end)
	took := a.now().Sub(w.began)
	slept, err := a.finish(&w.record, end, journal.Sleep{Ms: took.Milliseconds(), EmptyNotes: r.emptyNotes, Attempt: a.Waking.further(), Fallback: r.fallback})
	if err == nil && slept.Outcome == journal.Done && r.idle {
		a.rest(w, r.saw)
	}
	why := cmp.Or(err, r.err, w.lost)
	if why == nil && slept.Task == journal.TaskFailed {
		why = &Failed{slept.Unmet}
	}
	return Report{
		Cycle: w.id, Outcome: slept.Outcome, Exit: slept.Exit, Err: why, Task: slept.Task, about: w.proof.about, unmet: slept.Unmet,
		Iterations: w.iteration(), Tokens: w.tokens(), Took: took,
		Silent: w.heard.silent() && (slept.Outcome == journal.Failed || slept.Outcome == journal.Limited),
	}, err
}

// ending says how a run ended and what the notes are to say of it: said is runErr
// without secrets, as what is cut first leaves a part that nobody knows.
func (c *record) ending(runErr, said error) journal.End {
	var limit *Limit
	var signal Signal
	var again *ended
	switch {
	case errors.As(runErr, &again):
		return again.end
	case runErr == nil:
		return journal.End{Outcome: journal.Done}
	case errors.Is(runErr, ErrIdle):
		return journal.End{Outcome: journal.Idle}
	case errors.Is(runErr, ErrWaiting):
		return journal.End{Outcome: journal.Waiting}
	case errors.As(runErr, new(*Stopped)):
		return journal.End{Outcome: journal.Idle, Changes: []scratchpad.Change{appendNote("\n[STOPPED] " + said.Error())}}
	case errors.As(runErr, &limit):
		return journal.End{
			Outcome: journal.Limited, Exit: 3, Error: said.Error(),
			Changes: []scratchpad.Change{appendNote("\n[LIMIT] " + limit.Error())},
		}
	case errors.Is(runErr, mirror.ErrLost):
		return journal.End{Outcome: journal.Lost, Exit: 1, Error: said.Error(), Changes: []scratchpad.Change{appendNote("\n[LOST] " + said.Error())}}
	case errors.As(runErr, &signal):
		return journal.End{
			Outcome: journal.Signal, Exit: 128 + int(signal.Signal), Error: said.Error(),
			Changes: failure(c.state.Notes(), c.id, said, c.origins),
		}
	}
	return journal.End{
		Outcome: journal.Failed, Exit: 1, Error: said.Error(),
		Changes: failure(c.state.Notes(), c.id, said, c.origins),
	}
}

// proven is an end with what its checks came to. A task that failed is no success, and
// changes nothing else of it.
func (c *record) proven(end journal.End) journal.End {
	end.Task, end.Unmet, end.Flaky = c.proof.task, c.proof.unmet, c.proof.flaky
	if end.Task == journal.TaskFailed && end.Exit == 0 {
		end.Exit, end.Error = 1, (&Failed{end.Unmet}).Error()
	}
	return end
}

// finish puts a cycle to sleep: its last changes, the snapshot _after, the saved
// state, what left it, the event sleep, which it returns. It serves the cycle that just ran
// and the one that was interrupted, and does what is left where it was
// interrupted itself. Where a step fails, the next wake finishes the cycle; a
// journal that cannot be written does not keep the state from being saved.
func (k *Keeper) finish(c *record, end journal.End, sleep journal.Sleep) (journal.Sleep, error) {
	defer c.journal.Close()
	sleep.Outcome, sleep.Exit, sleep.Error = end.Outcome, end.Exit, end.Error
	sleep.Iterations, sleep.Tokens, sleep.Unproven, sleep.Trust = c.iteration(), c.tokens(), c.unproven, c.trust
	sleep.Task, sleep.FailedCalls, sleep.RefusedCalls = c.verdict(end), c.calls.Failed, c.calls.Refused
	sleep.Unsupported, sleep.Refused, sleep.Unmet, sleep.Flaky = c.calls.Unsupported, c.calls.Sandbox, end.Unmet, end.Flaky
	err := c.end(end)
	leaving, failed := k.tidy(c)
	defer leaving.close()
	err = cmp.Or(err, failed)
	if failed := k.preserve(c); failed != nil {
		sleep.Outcome, sleep.Exit = journal.Failed, 1
		return sleep, fmt.Errorf("sleep: %w", cmp.Or(err, failed))
	}
	changed := k.changed(c)
	saved, conflict := k.save(c)
	switch {
	case conflict == nil:
		err = cmp.Or(err, leaving.write(), inbox.Remove(k.disk(), k.Home.Inbox(), c.took))
	case !errors.As(conflict, new(*Conflict)):
		err = cmp.Or(err, conflict)
	}
	if err == nil && conflict != nil {
		sleep.Outcome, sleep.Exit, sleep.Error = journal.Failed, 1, conflict.Error()
	}
	k.version(c, history.After(c.id))
	err = cmp.Or(err, k.mark(c))
	k.variables(c)
	if c.rewind != nil {
		sleep.Rewound = c.rewind.To
	}
	sleep.Left, sleep.Changed, sleep.Shrunk = k.leave(c, saved), changed, k.shrunk(c)
	k.markShrunk(sleep.Shrunk)
	if err == nil {
		err = cmp.Or(c.journal.Append(&sleep), c.sync())
	}
	if err == nil && c.lost != nil && sleep.Outcome != journal.Lost {
		sleep.Outcome, sleep.Exit, sleep.Error = journal.Lost, 1, c.lost.Error()
		err = c.journal.Append(&sleep)
	}
	if err != nil {
		sleep.Outcome, sleep.Exit = journal.Failed, 1
		return sleep, fmt.Errorf("sleep: %w", err)
	}
	return sleep, conflict
}

// sync makes the journal durable. A cycle that sleeps saves what it can in its folder,
// also where the home was lost.
func (c *record) sync() error {
	err := c.journal.Sync()
	if c.reopened || !errors.Is(err, mirror.ErrLost) {
		return err
	}
	c.lost = err
	return nil
}

// end makes the last changes and journals the end, unless that is done.
func (c *record) end(end journal.End) error {
	if c.ended {
		return nil
	}
	if c.state.Apply(end.Changes...) != nil {
		end.Changes = nil // the memory is full; the journal holds the error
	}
	return c.journal.Append(&end)
}

// preserve writes _after, unless an interrupted sleep has. One that says something
// else is put aside.
func (k *Keeper) preserve(c *record) error {
	after, unproven := k.Home.After(c.id), k.Home.Unproven(c.id)
	if c.reopened && disk.Exists(after) {
		if found, err := k.Home.LoadFile(after); err == nil && scratchpad.Equal(found, c.state) {
			return nil
		}
		err := c.journal.Append(&journal.Warning{Text: fmt.Sprintf("%s is not what the journal proves, and counts for nothing; it is kept as %s", k.Home.Rel(after), k.Home.Rel(unproven))})
		if err := cmp.Or(err, k.disk().Rename(after, unproven)); err != nil {
			return err
		}
	}
	return c.state.Snapshot(k.disk(), after)
}

// Conflict says that the state was edited while a cycle ran, and that both sides
// changed the same keys. Nothing is lost: the edit stays, the cycle's result is
// its snapshot _after.
type Conflict struct {
	Active, After string
	Keys          []string // none where the file was removed or cannot be read
	Cause         error    // why it cannot be read
}

func (c *Conflict) Error() string {
	why := "removed"
	switch {
	case c.Cause != nil:
		why = fmt.Sprintf("edited and cannot be read (%v)", c.Cause)
	case len(c.Keys) > 0:
		why = "edited (" + strings.Join(c.Keys, ", ") + ")"
	}
	return fmt.Sprintf("%s was %s while the cycle ran; it is left as it is, and the cycle's result is in %s", c.Active, why, c.After)
}

// ErrEdited says that the memory is not what whoever saves it has read.
var ErrEdited = errors.New("the memory was changed meanwhile")

// save stamps the state and replaces active.yaml, unless somebody edited that
// since the cycle woke: then both sides are merged, or the edit stays. The last
// look at the file is just before it is replaced. It gives the hash of what it saved.
func (k *Keeper) save(c *record) (saved string, err error) {
	for look := c.reopened; ; look = true {
		merged, hash, err := k.merge(c, look)
		if err == nil && merged != nil {
			if err = merged.Save(unlessEdited{k.disk(), k.Home, hash}, k.Home.Active(), k.now()); err == nil {
				return merged.Hash(), nil
			}
		} else {
			err = cmp.Or(err, k.disk().SyncDir(k.Home.Memory()))
		}
		if !errors.Is(err, ErrEdited) {
			return "", err
		}
	}
}

// merge gives what active.yaml is to hold, nil where it holds that already, and
// the hash of what it was decided on. It does not look into a file that is as stat
// saw it at wake, unless it is told to: that is asked when the file is replaced.
func (k *Keeper) merge(c *record, look bool) (merged *scratchpad.State, hash string, err error) {
	if !look && disk.StampOf(k.Home.Active()) == c.left.stats[k.memory()] {
		return c.state, c.baseHash, nil // as it mostly is
	}
	theirs, hash, err := k.Home.Load()
	conflict := &Conflict{Active: k.Home.Rel(k.Home.Active()), After: k.Home.Rel(k.Home.After(c.id))}
	switch {
	case err != nil:
		conflict.Cause = err
		return nil, hash, conflict
	case hash == c.baseHash:
		return c.state, hash, nil
	case scratchpad.Equal(theirs, c.state) && hash != "":
		return nil, hash, nil // it was saved before the cycle was interrupted
	case hash == "" && scratchpad.Equal(c.base, c.state):
		return nil, hash, nil // removed, and the cycle had nothing to add
	case hash == "":
		return nil, hash, conflict
	}
	if err := k.guard(c, theirs, hash); err != nil {
		return nil, hash, err
	}
	merged, conflict.Keys = scratchpad.Merge(c.base, c.state, theirs)
	if len(conflict.Keys) > 0 {
		return nil, hash, conflict
	}
	return merged, hash, nil
}

// unlessEdited replaces active.yaml only while it has the hash that was decided on.
type unlessEdited struct {
	disk.FS
	home home.Home
	hash string
}

// Rename is the moment at which active.yaml is replaced.
func (u unlessEdited) Rename(oldname, newname string) error {
	if hash, err := u.home.Hash(); err != nil || hash != u.hash {
		return ErrEdited
	}
	return u.FS.Rename(oldname, newname)
}

// failure says in the notes that a cycle failed. Where the notes already end in
// a failure of the same kind, that line is replaced by one with a count.
func failure(notes, cycle string, err error, from origin.Set) []scratchpad.Change {
	reason := text.Line(err.Error(), maxNote)
	head, last := lastLine(notes)
	count, since, ok := sameFailure(bare(last), reason)
	if !ok {
		return []scratchpad.Change{appendNote("\n" + from.Line(fmt.Sprintf("Cycle %s failed: %s", cycle, reason)))}
	}
	line := fmt.Sprintf("Cycle %s failed: %s (%d times in a row since %s)", cycle, reason, count+1, since)
	return []scratchpad.Change{{Op: "set", Key: "notes", Value: head + from.Line(line)}}
}

func lastLine(notes string) (head, last string) {
	i := strings.LastIndexByte(notes, '\n') + 1
	return notes[:i], notes[i:]
}

// sameFailure reads a line that failure wrote, and says whether that failure had
// the same cause.
func sameFailure(line, reason string) (count int, since string, ok bool) {
	rest, ok := strings.CutPrefix(line, "Cycle ")
	if !ok || len(rest) < len(home.CycleForm) || !home.ValidCycle(rest[:len(home.CycleForm)]) {
		return 0, "", false
	}
	count, since, rest = 1, rest[:len(home.CycleForm)], rest[len(home.CycleForm):]
	if i := strings.LastIndex(rest, " ("); i >= 0 {
		var times int
		var first string
		if n, err := fmt.Sscanf(rest[i:], " (%d times in a row since %15s", &times, &first); n == 2 && err == nil {
			count, since, rest = times, first, rest[:i]
		}
	}
	return count, since, pause.Cause(rest) == pause.Cause(" failed: "+reason)
}

func appendNote(text string) scratchpad.Change {
	return scratchpad.Change{Op: "append", Key: "notes", Value: text}
}
