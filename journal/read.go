package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"

	"rouse/internal/jsonl"
	"rouse/scratchpad"
)

// Read gives the events of a journal in order. Lines that are no event, such as
// the half line that a killed process left, are passed over.
func Read(path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer f.Close()
		ReadFrom(f)(yield)
	}
}

// ReadFrom is [Read] for an open journal.
func ReadFrom(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range jsonl.Values[Event](r) {
			if err != nil {
				err = fmt.Errorf("read journal: %w", err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func parse(line []byte) (e Event, ok bool) {
	line = bytes.TrimSpace(line)
	return e, len(line) > 0 && json.Unmarshal(line, &e) == nil
}

// Last gives the last event of a journal, reading no more of it than it must.
// The event is zero if there is none.
func Last(path string) (Event, error) {
	list, err := tail(path, 1)
	if err != nil || len(list) == 0 {
		return Event{}, err
	}
	return list[0], nil
}

// tail gives at most n of the last events of a journal, the last one first.
func tail(path string, n int) (list []Event, err error) {
	_, err = jsonl.Tail(path, 4<<10, func(lines []byte) bool {
		list = lastIn(lines, n)
		return len(list) == n
	})
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return list, nil
}

// lastIn finds the last n events in the end of a journal.
func lastIn(end []byte, n int) (list []Event) {
	lines := bytes.Split(end, []byte("\n"))
	for i := len(lines) - 1; i >= 0 && len(list) < n; i-- {
		if e, ok := parse(lines[i]); ok {
			list = append(list, e)
		}
	}
	return list
}

// Counts counts the calls of a cycle that did not go well.
type Counts struct {
	Failed, Refused int
	Unsupported     int       // quotes of the model that prove nothing
	Sandbox         []Refusal // what the sandbox refused
}

// Add counts a result. What Rouse does itself it refuses; what a tool does fails.
func (c *Counts) Add(r *Result) {
	c.Unsupported += len(Unsupported(r.Evidence))
	switch {
	case r.OK:
	case r.Tool == "done" || r.Tool == "update_scratchpad":
		c.Refused++
	default:
		c.Failed++
	}
}

// Rebuild applies to state, which must be as it was at wake, every change that
// the events record.
func Rebuild(state *scratchpad.State, events iter.Seq2[Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := state.Apply(Changes(e)...); err != nil {
			return fmt.Errorf("rebuild cycle %s, event %d: %w", e.Cycle, e.Seq, err)
		}
	}
	return nil
}

// Changes are the changes of the memory that an event records.
func Changes(e Event) []scratchpad.Change {
	switch d := e.Data.(type) {
	case *State:
		return d.Changes
	case *Result:
		return d.Changes
	case *Note:
		return d.Changes
	case *Warning:
		return d.Changes
	case *Approval:
		return d.Changes
	case *End:
		return d.Changes
	case *Tidied:
		return d.Changes
	}
	return nil
}
