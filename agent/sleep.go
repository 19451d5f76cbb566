package agent

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"rouse/agent/journal"
	"rouse/scratchpad"
)

// sleep ends the cycle as its run did.
func (a *Agent) sleep(c *cycle, runErr error) (Report, error) {
	end := c.ending(runErr)
	var limit *Limit
	if errors.As(runErr, &limit) {
		// A journal that cannot be written is reported when the end is.
		_ = c.journal.Append(&journal.Limit{Name: limit.Name, Text: limit.Text})
	}
	took := a.now().Sub(c.began)
	err := a.finish(c, end, took)
	return Report{
		Cycle: c.id, Outcome: end.Outcome, Exit: end.Exit, Err: runErr,
		Iterations: c.iterations, Tokens: c.tokens, Took: took,
	}, err
}

// ending says how a run ended and what the notes are to say of it.
func (c *cycle) ending(runErr error) journal.End {
	var limit *Limit
	var signal Signal
	switch {
	case runErr == nil:
		return journal.End{Outcome: journal.Done}
	case errors.Is(runErr, errIdle):
		return journal.End{Outcome: journal.Idle}
	case errors.As(runErr, &limit):
		return journal.End{
			Outcome: journal.Limited, Exit: 3, Error: runErr.Error(),
			Changes: []scratchpad.Change{appendNote("\n[LIMIT] " + limit.Error())},
		}
	case errors.As(runErr, &signal):
		return journal.End{
			Outcome: journal.Signal, Exit: 128 + int(signal.Signal), Error: runErr.Error(),
			Changes: failure(c.state.Notes(), c.id, runErr),
		}
	}
	return journal.End{
		Outcome: journal.Failed, Exit: 1, Error: runErr.Error(),
		Changes: failure(c.state.Notes(), c.id, runErr),
	}
}

// finish puts a cycle to sleep: its last changes, the snapshot _after, the saved
// state, the event sleep. It serves the cycle that just ran and the one that was
// interrupted, and does what is left where it was interrupted itself.
func (a *Agent) finish(c *cycle, end journal.End, took time.Duration) error {
	defer c.journal.Close()
	if err := a.preserve(c, end); err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	sleep := &journal.Sleep{
		Outcome: end.Outcome, Exit: end.Exit, Error: end.Error,
		Iterations: c.iterations, Tokens: c.tokens, Ms: took.Milliseconds(),
	}
	conflict := a.save(c)
	if conflict != nil && !errors.As(conflict, new(*Conflict)) {
		return fmt.Errorf("sleep: %w", conflict)
	}
	if conflict != nil {
		sleep.Outcome, sleep.Exit, sleep.Error = journal.Failed, 1, conflict.Error()
	}
	if err := c.journal.Append(sleep); err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	if err := c.journal.Sync(); err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	return conflict
}

// preserve records the end and writes _after, unless an interrupted sleep has.
// It writes _after also when the journal cannot be written.
func (a *Agent) preserve(c *cycle, end journal.End) error {
	if exists(a.Home.After(c.id)) && c.reopened {
		return nil
	}
	var journalled error
	if !c.ended {
		if c.state.Apply(end.Changes...) != nil {
			end.Changes = nil // the memory is full; the journal holds the error
		}
		journalled = c.journal.Append(&end)
	}
	return cmp.Or(journalled, c.state.Snapshot(a.disk(), a.Home.After(c.id)))
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

// save stamps the state and replaces active.yaml, unless somebody edited that
// since the cycle woke: then both sides are merged, or the edit stays.
func (a *Agent) save(c *cycle) error {
	theirs, hash, err := a.Home.Load()
	conflict := &Conflict{Active: a.Home.Rel(a.Home.Active()), After: a.Home.Rel(a.Home.After(c.id))}
	switch {
	case err != nil:
		conflict.Cause = err
		return conflict
	case hash == c.baseHash:
		return c.state.Save(a.disk(), a.Home.Active(), a.now())
	case scratchpad.Equal(theirs, c.state) && hash != "":
		return nil // it was saved before the cycle was interrupted
	case hash == "" && scratchpad.Equal(c.base, c.state):
		return nil // removed, and the cycle had nothing to add
	case hash == "":
		return conflict
	}
	merged, keys := scratchpad.Merge(c.base, c.state, theirs)
	if len(keys) > 0 {
		conflict.Keys = keys
		return conflict
	}
	return merged.Save(a.disk(), a.Home.Active(), a.now())
}

// failure says in the notes that a cycle failed. Where the notes already end in
// a failure of the same kind, that line is replaced by one with a count.
func failure(notes, cycle string, err error) []scratchpad.Change {
	reason := journal.Line(err.Error(), maxNote)
	head, last := lastLine(notes)
	count, since, ok := sameFailure(last, reason)
	if !ok {
		return []scratchpad.Change{appendNote(fmt.Sprintf("\nCycle %s failed: %s", cycle, reason))}
	}
	line := fmt.Sprintf("Cycle %s failed: %s (%d times in a row since %s)", cycle, reason, count+1, since)
	return []scratchpad.Change{{Op: "set", Key: "notes", Value: head + line}}
}

func lastLine(notes string) (head, last string) {
	i := strings.LastIndexByte(notes, '\n') + 1
	return notes[:i], notes[i:]
}

// sameFailure reads a line that failure wrote. Two failures are of the same kind
// if their reasons differ in numbers alone.
func sameFailure(line, reason string) (count int, since string, ok bool) {
	rest, ok := strings.CutPrefix(line, "Cycle ")
	if !ok || len(rest) < len(cycleForm) || !ValidCycle(rest[:len(cycleForm)]) {
		return 0, "", false
	}
	count, since, rest = 1, rest[:len(cycleForm)], rest[len(cycleForm):]
	if i := strings.LastIndex(rest, " ("); i >= 0 {
		if n, err := fmt.Sscanf(rest[i:], " (%d times in a row since %15s", &count, &since); n == 2 && err == nil {
			rest = rest[:i]
		}
	}
	return count, since, withoutNumbers(rest) == withoutNumbers(" failed: "+reason)
}

func withoutNumbers(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

func appendNote(text string) scratchpad.Change {
	return scratchpad.Change{Op: "append", Key: "notes", Value: text}
}
