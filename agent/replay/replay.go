// Package replay runs recorded cycles again.
//
// [Run] does so with their recorded replies and results, in a temporary home, and says
// whether the same came of it. It is the cycle of package agent that runs, so that a
// change of that code which old cycles do not survive is found; nothing is carried out
// and nobody is asked.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"rouse/agent"
	"rouse/home"
	"rouse/internal/jsonl"
	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/journal"
)

// Options are what the journal of a cycle does not have.
type Options struct {
	Redact *redact.Redactor
	Demo   []string // the tasks of a new home
}

// Replayed is what came of a cycle that was run again.
type Replayed struct {
	Cycle      string `json:"cycle"`
	Same       bool   `json:"same"`
	Iterations int    `json:"iterations"`
	Actions    int    `json:"actions"` // that were the same
	// First is the first difference.
	First *Difference `json:"difference"`
	// Requests says of how many requests what was asked is not what was asked then, in
	// words that Rouse itself adds.
	Requests int `json:"requests_changed"`
}

// Difference is where a cycle that is run again left the recorded one.
type Difference struct {
	Iteration int    `json:"iteration"`
	Step      int    `json:"step"`
	What      string `json:"what"`
	Recorded  string `json:"recorded"`
	Now       string `json:"now"`
}

// String is it in words.
func (d Difference) String() string {
	at := ""
	if d.Iteration > 0 {
		at = fmt.Sprintf("iteration %d: ", d.Iteration)
	}
	if d.Step > 0 {
		at += fmt.Sprintf("step %d: ", d.Step)
	}
	return fmt.Sprintf("%s%s: recorded %s, now %s", at, d.What, d.Recorded, d.Now)
}

// Impossible says why a cycle cannot be run again.
type Impossible struct {
	Cycle string
	Err   error
}

func (e *Impossible) Error() string {
	return fmt.Sprintf("cycle %s cannot be replayed: %v", e.Cycle, e.Err)
}

func (e *Impossible) Unwrap() error { return e.Err }

// Run runs a cycle again and compares what it does, the memory and _after with what the
// journal and the snapshots have. The error is *[Impossible] where something is missing.
func Run(ctx context.Context, h home.Home, cycle string, o Options) (r Replayed, err error) {
	past, err := agent.ReadPast(h, cycle)
	if err != nil {
		return r, &Impossible{cycle, err}
	}
	was, err := os.ReadFile(past.After())
	if err != nil {
		return r, &Impossible{cycle, fmt.Errorf("what it came to: %w", err)}
	}
	dir, err := os.MkdirTemp("", "rouse-replay-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	a, err := past.Agent(home.Home{Dir: dir})
	if err != nil {
		return r, &Impossible{cycle, err}
	}
	a.Redact, a.Demo = o.Redact, o.Demo
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := newComparer(past, func() { cancel(errDiffers) })
	watch := a.Watch
	a.Watch = func(e journal.Event) { watch(e); c.add(e) }
	report, err := a.RunOnce(ctx)
	lacks := past.Close()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errDiffers) {
		return r, cause
	}
	if lacks != nil {
		return r, &Impossible{cycle, lacks}
	}
	if err != nil && c.first == nil {
		return r, fmt.Errorf("replay of %s: %w", cycle, err)
	}
	c.end()
	is, err := os.ReadFile(a.Home.After(cycle))
	if c.first == nil && (err != nil || !bytes.Equal(was, is)) {
		c.first = differ(was, is)
	}
	return Replayed{Cycle: cycle, Same: c.first == nil, Iterations: report.Iterations, Actions: c.actions, First: c.first, Requests: c.requests}, nil
}

// errDiffers ends a cycle that does not go as it went.
var errDiffers = errors.New("the replay differs")

// differ finds the first line in which two snapshots differ.
func differ(was, is []byte) *Difference {
	a, b := bytes.Split(was, []byte("\n")), bytes.Split(is, []byte("\n"))
	i := 0
	for i < len(a) && i < len(b) && bytes.Equal(a[i], b[i]) {
		i++
	}
	at := func(lines [][]byte) string {
		if i == len(lines) {
			return "the end"
		}
		return string(lines[i])
	}
	recorded, came := apart(at(a), at(b))
	return &Difference{What: fmt.Sprintf("line %d of _after", i+1), Recorded: recorded, Now: came}
}

func quoted(s string) string { return "`" + text.Line(s, 300) + "`" }

// apart are two texts from shortly before they differ.
func apart(a, b string) (string, string) {
	const before = 60
	x, y, same := []rune(a), []rune(b), 0
	for same < len(x) && same < len(y) && x[same] == y[same] {
		same++
	}
	if same <= 2*before {
		return quoted(a), quoted(b)
	}
	return quoted("…" + string(x[same-before:])), quoted("…" + string(y[same-before:]))
}

// comparer compares the events of a cycle with those of a journal, as they come.
type comparer struct {
	then      []journal.Event // that are compared
	sums      []string        // of the requests
	at        int
	iteration int
	actions   int
	asked     int
	requests  int
	first     *Difference
	stop      func()
}

func newComparer(p *agent.Past, stop func()) *comparer {
	c := &comparer{stop: stop}
	for _, e := range p.Events() {
		switch d := e.Data.(type) {
		case *journal.Request:
			if d.For == "" {
				c.sums = append(c.sums, d.Sum)
			}
		case *journal.Model:
			c.sums = nil // what was asked before found no answer
		}
		if compared(e) {
			c.then = append(c.then, e)
		}
	}
	return c
}

// compared says whether an event is one of those that make the memory, or say what the
// cycle did.
func compared(e journal.Event) bool {
	switch d := e.Data.(type) {
	case *journal.Note, *journal.Intent, *journal.Result, *journal.State, *journal.Tidied, *journal.End, *journal.Sleep:
		return true
	case *journal.Warning:
		return len(d.Changes) > 0
	}
	return false
}

func (c *comparer) add(now journal.Event) {
	if d, ok := now.Data.(*journal.Request); ok {
		c.iteration = d.Iteration
		if c.asked < len(c.sums) && c.sums[c.asked] != d.Sum {
			c.requests++
		}
		c.asked++
	}
	if c.first != nil || !compared(now) {
		return
	}
	if c.at == len(c.then) {
		c.differs(now, "what comes next", "nothing", now.Event+" "+brief(now))
		return
	}
	then := c.then[c.at]
	c.at++
	c.compare(then, now)
	if now.Event == "result" {
		c.actions++
	}
}

// compare finds the first field in which two events differ.
func (c *comparer) compare(then, now journal.Event) {
	if then.Event != now.Event {
		c.differs(now, "what comes next", then.Event+" "+brief(then), now.Event+" "+brief(now))
		return
	}
	was, is := fields(then), fields(now)
	for _, name := range slices.Sorted(maps.Keys(both(was, is))) {
		if was[name] == nil && name == "task" {
			continue // an older journal has no verdict
		}
		if !reflect.DeepEqual(was[name], is[name]) {
			recorded, came := apart(value(was[name]), value(is[name]))
			c.differs(now, now.Event+" "+name, recorded, came)
			return
		}
	}
}

func (c *comparer) differs(now journal.Event, what, then, is string) {
	step, _ := fields(now)["step"].(float64)
	c.first = &Difference{c.iteration, int(step), what, then, is}
	c.stop()
}

// end finds out whether less came than was recorded.
func (c *comparer) end() {
	if c.first == nil && c.at < len(c.then) {
		c.first = &Difference{Iteration: c.iteration, What: "what comes next", Recorded: c.then[c.at].Event + " " + brief(c.then[c.at]), Now: "nothing"}
	}
}

func both(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// fields are those of an event that are the same whenever it comes.
func fields(e journal.Event) map[string]any {
	line, err := json.Marshal(e)
	all := map[string]any{}
	if err != nil || json.Unmarshal(line, &all) != nil {
		return map[string]any{"unreadable": string(line)}
	}
	for _, name := range []string{"v", "seq", "time", "mac", "ms", "pid", "from", "effect"} {
		delete(all, name)
	}
	if _, ok := e.Data.(*journal.Sleep); ok { // what it says beside that is of its time
		all = map[string]any{"iterations": all["iterations"], "task": all["task"]}
	}
	return all
}

func value(v any) string {
	if v == nil {
		return "nothing"
	}
	line, err := jsonl.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(line))
}

// brief is what an event says, in short.
func brief(e journal.Event) string {
	all := fields(e)
	for _, name := range []string{"cycle", "event"} {
		delete(all, name)
	}
	return quoted(value(all))
}
