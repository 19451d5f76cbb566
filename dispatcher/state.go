package dispatcher

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/internal/object"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

//go:embed update_scratchpad.md
var updateText string

//go:embed done.md
var doneText string

// The schemas are for models alone: what they are called with is checked by the
// memory itself, which takes a text for a list of one.
var (
	updateSchema = json.RawMessage(`{"type":"object","properties":{"goals":{"type":"array","items":{"type":"string"}},` +
		`"current_task":{"type":"string"},"pending_actions":{"type":"array","items":{"type":"string"}},` +
		`"notes":{"type":"string"},` +
		`"next_wake":{"type":"string"}}}`)
	doneSchema = json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"},` +
		`"evidence":{"type":"array","items":{"type":"object"}},"idle":{"type":"boolean"}},"required":["summary"]}`)
)

// refusal is an error that the model reads.
type refusal struct{ msg string }

func (r *refusal) Error() string { return r.msg }

func refusef(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// Offered are the tools as the model sees them: those of the home that are not hidden, then the two
// actions that every home has, then what reads the scratchpad once there is
// something in it.
func (d *Dispatcher) Offered() []tools.Tool {
	list := append(slices.DeleteFunc(d.Tools.All(), func(t tools.Tool) bool { return t.Hidden }),
		tools.Tool{Name: "update_scratchpad", Description: strings.TrimSpace(updateText), Raw: updateSchema},
		tools.Tool{Name: "done", Description: strings.TrimSpace(doneText), Raw: doneSchema},
	)
	if d.reads() {
		list = append(list, d.shelfTools()...)
	}
	return list
}

// reads says that there is something to read, or that the memory names what another home shares.
func (d *Dispatcher) reads() bool {
	return d.shelved || d.Kept || d.State != nil && d.State.Mentions(observation.NamesShared)
}

// Find gives a tool that is offered.
func (d *Dispatcher) Find(name string) (tools.Tool, bool) {
	if t, ok := d.Tools.Find(name); ok {
		return t, true
	}
	if d.reads() {
		for _, t := range d.shelfTools() {
			if t.Name == name {
				return t, true
			}
		}
	}
	return tools.Tool{}, false
}

// Repairable says whether a call may be taken from JSON that had to be repaired:
// it must change and send nothing, or be the end of the cycle.
func (d *Dispatcher) Repairable(tool string) bool {
	t, ok := d.Find(tool)
	return tool == "done" || ok && t.ReadOnly
}

// update is the branch of update_scratchpad: completed_tasks extends, every
// other key replaces. It changes all keys or none.
func (d *Dispatcher) update(o *Observation) error {
	was := d.outside()
	r, args, err := d.resolve(d.tasks(), o)
	if err == nil && !was && d.outside() { // since it refers to what another home shares
		r.close()
		r, args, err = d.resolve(d.tasks(), o)
	}
	if err != nil {
		return refusef("%v; nothing was changed", err)
	}
	defer r.close()
	changes, wake, err := d.updates(args)
	if err != nil {
		return err
	}
	given, told := len(changes), d.keepUnseen(changes)
	changes, kept, err := d.guardTasks(changes)
	if err != nil {
		return err
	}
	if d.Marks && len(d.Origins) == 0 {
		changes = d.unforged(changes)
	}
	var said []string
	if told != "" {
		said = append(said, told)
	}
	if len(changes) > 0 {
		if err := d.Change(changes...); err != nil {
			return err
		}
		said = append(said, "updated "+text.Join(changes[:given], ", ", func(c scratchpad.Change) string { return c.Key }))
	}
	if kept != "" {
		said = append(said, kept)
	}
	if wake != nil {
		d.NextWake = wake
		said = append(said, wakeText(*wake))
	}
	o.Content = strings.Join(said, "; ")
	return nil
}

// tasks are what no text from outside may become unread.
func (d *Dispatcher) tasks() (takes tools.Tool) {
	if d.outside() {
		takes.Verbatim = []string{"current_task", "pending_actions", "completed_tasks"}
	}
	return takes
}

// updates are the changes that update_scratchpad is called for, and the wish.
func (d *Dispatcher) updates(args json.RawMessage) (changes []scratchpad.Change, wake *time.Duration, err error) {
	given, err := object.Parse(args)
	if err != nil {
		return nil, nil, refusef("%v; nothing was changed", err)
	}
	for _, m := range given.Members {
		var set scratchpad.Change
		switch {
		case slices.Contains(d.Locked, m.Key):
			err = refusef("%s is locked by the operator (cycle.locked); nothing was changed", m.Key)
		case m.Key == "goals" && d.outside():
			err = refusef("goals are locked, as this cycle has text from outside (%s): write into notes what you would change, for the operator to see; nothing was changed", d.Origins.Outside())
		case d.Marks && (m.Key == origin.Key || m.Key == origin.All):
			err = refusef("%s says where texts came from, and is not yours to change; nothing was changed", m.Key)
		case m.Key == nextWake:
			wake, err = d.readWake(m.Value)
		default:
			set, err = setting(m)
			if text, ok := set.Value.(string); ok && m.Key == "notes" {
				set.Value = d.keepNotes(text)
			}
			changes = append(changes, set)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(changes) == 0 && wake == nil {
		return nil, nil, refusef(`nothing to change; give the keys, such as {"notes": "..."}`)
	}
	return changes, wake, nil
}

// setting is the change that sets a key, decoded as it will be when the journal is
// replayed.
func setting(m object.Member) (set scratchpad.Change, err error) {
	if err := json.Unmarshal(fmt.Appendf(nil, `{"value":%s}`, m.Value), &set); err != nil {
		return set, refusef("%s: %v; nothing was changed", m.Key, err)
	}
	set.Op, set.Key = "set", m.Key
	if set.Value, err = scratchpad.Coerce(m.Key, set.Value); err != nil {
		return set, refusef("%v; nothing was changed", err)
	}
	if m.Key == "completed_tasks" {
		set.Op = "extend"
	}
	return set, nil
}

// done is the branch that ends the cycle: the current task is completed and the
// next pending one takes its place.
func (d *Dispatcher) done(ctx context.Context, o *Observation) error {
	var args struct {
		Summary *string
		Idle    bool
	}
	r, resolved, err := d.resolve(tools.Tool{}, o)
	if err != nil {
		return refusef("summary: %v", err)
	}
	defer r.close()
	if err := json.Unmarshal(resolved, &args); err != nil {
		return refusef(`"summary" is a text that says what was achieved, "idle" is true or false`)
	}
	summary := "(no summary)"
	if args.Summary != nil && strings.TrimSpace(*args.Summary) != "" {
		summary = *args.Summary
	}
	if !Ready(d.State.CurrentTask()) {
		return d.postpone(o, summary)
	}
	if err := d.refused(ctx, o.Step); err != nil {
		return err
	}
	if len(d.Failed) > 0 {
		o.Done, o.Content = true, "the cycle ends, and the task has failed: "+unmet(d.Failed)
		if err := d.Change(postponed(d.State, d.Failed)...); !errors.Is(err, scratchpad.ErrFull) {
			return err
		}
		return nil // the journal has the checks, and the task stays where it is
	}
	idle := args.Idle && !slices.ContainsFunc(d.State.Pending(), Ready) // what is pending is something to do
	err = d.Change(o.completion(d.State, summary)...)
	if errors.Is(err, scratchpad.ErrFull) {
		return refusef("not done: %v; make room with update_scratchpad first, then call done again", err)
	}
	o.Done, o.Content, d.Idle = true, summary, idle
	return err
}

func (o *Observation) completion(s *scratchpad.State, summary string) []scratchpad.Change {
	var changes []scratchpad.Change
	if task := s.CurrentTask(); task != nil {
		entry := map[string]any{"task": unchecked(task), "summary": summary}
		if no := journal.Unsupported(o.evidence); len(no) > 0 {
			entry["unsupported"] = len(no)
		}
		changes = append(changes, scratchpad.Change{Op: "extend", Key: "completed_tasks", Value: []any{entry}})
	}
	changes = append(changes, Promote(s)...)
	return append(changes, note("\n[COMPLETED] "+o.marked(text.Line(summary, len(summary)))))
}

// Promote are the changes that make the first pending action that does not wait the
// current task, or null where there is none.
func Promote(s *scratchpad.State) []scratchpad.Change {
	pending := s.Pending()
	i := slices.IndexFunc(pending, Ready)
	if i < 0 {
		return []scratchpad.Change{{Op: "set", Key: "current_task", Value: nil}}
	}
	next := pending[i]
	switch next.(type) {
	case string, map[string]any:
	default: // a task is a text or a mapping, an item of the queue may be anything
		next = scratchpad.TaskText(next)
	}
	return []scratchpad.Change{
		{Op: "set", Key: "current_task", Value: next},
		{Op: "set", Key: "pending_actions", Value: slices.Delete(slices.Clone(pending), i, i+1)},
	}
}

func note(text string) scratchpad.Change {
	return scratchpad.Change{Op: "append", Key: "notes", Value: text}
}

// Note records that a reply held no action, in the journal alone where the memory
// is full.
func (d *Dispatcher) Note(text string) error {
	err := d.Change(note(text))
	if errors.Is(err, scratchpad.ErrFull) {
		return d.Journal.Append(&journal.Warning{Text: strings.TrimSpace(text)})
	}
	return err
}
