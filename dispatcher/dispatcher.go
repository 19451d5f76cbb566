// Package dispatcher carries out what the model asks for: one action in, one
// observation out.
//
// There are three branches: a tool, update_scratchpad and done. A tool that
// fails gives an observation that the model reads; an error of [Dispatcher.Do]
// ends the cycle. What a call is about to do is in the journal before it starts,
// and what became of it before anything else happens.
package dispatcher

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"rouse/internal/clock"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// ErrStuck ends a cycle that does the same thing over and over.
var ErrStuck = errors.New("stuck")

// Journal is where the dispatcher records what it does.
type Journal interface {
	Append(journal.Payload) error
	Sync() error
}

// Dispatcher carries out the actions of one cycle.
type Dispatcher struct {
	Tools   *tools.Set
	State   *scratchpad.State
	Journal Journal
	// Shelf is where large observations are kept.
	Shelf
	// Kept says that earlier cycles kept something there.
	Kept bool
	// Wishes are what the model asks for beside its memory.
	Wishes
	// Proof is how tasks are checked that are said to be done.
	Proof
	// Consent is what the operator has to say of calls.
	Consent
	// Locked are the keys of the state that the model may not change.
	Locked []string
	// Notes says whether calls are to come with a note of earlier results, and
	// Visible what of these the model can see, as [journal.Note] has it.
	Notes   tools.NoteMode
	Visible func() []string
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Parked, unless nil, says where what left the conversation next was put, in a
	// cycle that is not run but told again.
	Parked func() (id string, err error)
	// Past, unless nil, is what the journal has of each step, in a cycle that is run
	// again: no call is carried out. An error ends the cycle.
	Past func(step int) (Recorded, error)

	step  int
	noted string   // the last note
	notes []string // the lines that notes came to
	empty int      // calls without a note
	same  repeats
	// unseen are tasks that a person told after the model saw the queue.
	unseen []any
	past   map[int]Observation // by step, for references
}

// Observation is what the model reads of one action.
type Observation struct {
	Step     int             `json:"step"`
	Tool     string          `json:"tool,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	OK       bool            `json:"ok"`
	Content  any             `json:"content,omitempty"`
	Metadata map[string]any  `json:"metadata,omitempty"`
	Error    string          `json:"error,omitempty"`

	// What stands in the place of a large content.
	ScratchpadID string `json:"scratchpad_id,omitempty"`
	SizeBytes    int64  `json:"size_bytes,omitempty"`
	Kind         string `json:"kind,omitempty"`
	Summary      string `json:"summary,omitempty"`
	Facts        string `json:"facts,omitempty"`
	Note         string `json:"_note,omitempty"`

	// Warning says that the model repeats itself.
	Warning string `json:"warning,omitempty"`
	// Done says that the action ends the cycle.
	Done bool `json:"-"`
	// Images are shown to models that can see, once.
	Images []tools.Media `json:"-"`

	size     int64
	sum      string   // of all of the content
	approved string   // the id under which a person did
	refused  []string // what the sandbox kept its process from
	from     []string // where its text came from
	shown    int      // how many bytes of it are shown whole, if more than of others
	parked   string   // of what of it is in the store
	evidence []journal.Evidence
	whole    bool // it is shown as it is
	// partial says that Content is not all that the tool gave, and that the rest
	// is nowhere.
	partial bool
}

// text is the content as text.
func (o Observation) text() string {
	switch c := o.Content.(type) {
	case nil:
		return o.Summary
	case string:
		return c
	}
	b, err := json.Marshal(o.Content)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Do carries out one action. An error ends the cycle.
func (d *Dispatcher) Do(ctx context.Context, a Action) (Observation, error) {
	d.step++
	a = d.called(a)
	o := Observation{Step: d.step, Tool: d.Redact.String(a.Tool), Args: d.Redact.JSON(a.Args)}
	var compact bytes.Buffer
	if json.Compact(&compact, o.Args) == nil {
		o.Args = compact.Bytes()
	}
	d.prove(ctx, &o)
	if err := d.takeNote(&o); err != nil {
		return o, err
	}
	if err := d.branch(ctx, &o, a.Unread); err != nil {
		return o, err
	}
	d.keep(o)
	return o, d.guard(&o)
}

// keep keeps an observation for references.
func (d *Dispatcher) keep(o Observation) {
	if d.past == nil {
		d.past = map[int]Observation{}
	}
	o.Images = nil
	d.past[o.Step] = o
}

func (d *Dispatcher) branch(ctx context.Context, o *Observation, unread string) error {
	switch {
	case o.Error != "":
		return d.refuse(o, o.Error)
	case !isObject(o.Args):
		return d.refuse(o, "arguments: want a JSON object")
	case o.Tool == "update_scratchpad":
		return d.record(o, d.update(o))
	case o.Tool == "done" && unread != "":
		return d.record(o, refusef("not done: %s in the same reply did not go well, and you have not read what it gave back; read it, and call done again if the task is done all the same", unread))
	case o.Tool == "done":
		return d.record(o, d.done(ctx, o))
	}
	return d.call(ctx, o)
}

func isObject(args json.RawMessage) bool {
	return bytes.HasPrefix(args, []byte("{")) && json.Valid(args)
}

// badArguments begins what is said of a call with arguments that its tool does not take.
const badArguments = "arguments: "

// call runs a tool: its intent is recorded before, its result after.
func (d *Dispatcher) call(ctx context.Context, o *Observation) error {
	tool, ok := d.Find(o.Tool)
	if !ok {
		return d.refuse(o, fmt.Sprintf("unknown tool %q; the tools are %s", o.Tool, strings.Join(d.Names(), ", ")))
	}
	r, args, err := d.prepare(tool, o)
	if err != nil {
		return d.refuse(o, badArguments+err.Error())
	}
	defer r.close()
	if err := d.Room(); err != nil {
		return d.record(o, refusef("not carried out: %v, so nobody would know of the call; make room with update_scratchpad first", err))
	}
	if yes, err := d.consent(tool, args, r.streams, o); err != nil || !yes {
		return err
	}
	return d.perform(ctx, tool, tools.Call{Args: args, Streams: r.readers()}, o)
}

// perform carries a call out, between its intent and its result.
func (d *Dispatcher) perform(ctx context.Context, tool tools.Tool, call tools.Call, o *Observation) error {
	if err := d.intend(tool, o); err != nil {
		return err
	}
	d.calls++
	started := d.now()
	if d.Past == nil {
		d.run(ctx, tool, call, o)
	} else if err := d.again(o); err != nil {
		return err
	}
	for _, what := range o.refused {
		if err := d.Journal.Append(&journal.Refused{Step: o.Step, What: what}); err != nil {
			return err
		}
	}
	if err := d.Learn(o.Step, o.from); err != nil {
		return err
	}
	return d.result(o, d.now().Sub(started), note(toolNote(*o)))
}

// refuse answers a call that is not carried out.
func (d *Dispatcher) refuse(o *Observation, reason string) error {
	o.Error = d.Redact.String(reason)
	return d.result(o, 0, note(toolNote(*o)))
}

// intend makes the intent of a call durable if the call may have an effect.
func (d *Dispatcher) intend(tool tools.Tool, o *Observation) error {
	if err := d.Journal.Append(&journal.Intent{Step: o.Step, Tool: o.Tool, Args: o.Args, PID: os.Getpid(), Effect: tool.Effect, Approval: o.approved}); err != nil {
		return err
	}
	if tool.ReadOnly && o.approved == "" {
		return nil
	}
	err := d.Journal.Sync()
	if err != nil && o.approved == "" { // else who reads on takes it for a call that may have run; an approval counts as used
		_ = d.refuse(o, "not carried out, as that it begins could not be kept: "+err.Error())
	}
	return err
}

// run carries out the call and fills in the observation, without secrets.
func (d *Dispatcher) run(ctx context.Context, tool tools.Tool, call tools.Call, o *Observation) {
	call.Started = func(p proc.Identity) {
		// Without this record a crash leaves the process to the mark alone.
		_ = d.Journal.Append(&journal.Started{Step: o.Step, Process: p})
	}
	call.Hop = d.hop(tool, call.Args)
	came := d.watch(tool, call)
	o.shown = tool.Shown
	d.Observe(ctx, o, func(out io.Writer) tools.Result {
		call.Output = out
		res := tool.Run(ctx, call)
		o.from = came(res)
		return res
	})
	d.shelved = d.shelved || o.Tool == readName && o.OK // as [Dispatcher.again] has it
}

// record journals an action that is not a tool; err, if it is for the model to
// read, becomes its result.
func (d *Dispatcher) record(o *Observation, err error) error {
	var refused *refusal
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	o.OK = err == nil
	if err != nil {
		o.Error, o.Done = refused.msg, false
	}
	return d.result(o, 0)
}

// result records the outcome of an action and what the memory keeps of it, in
// one event: a crash leaves both, or an intent without a result. The memory has
// its part also where the journal cannot be written.
func (d *Dispatcher) result(o *Observation, took time.Duration, changes ...scratchpad.Change) error {
	var said any = o.Content
	if o.ScratchpadID != "" {
		said = o.Summary
	}
	content, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("result of %s: %w", o.Tool, err)
	}
	changes = d.mark(changes)
	refused := d.apply(changes)
	if refused != nil {
		changes = nil
	}
	if errors.Is(refused, scratchpad.ErrFull) {
		refused = nil // the journal has it; a call was made only where there was room
	}
	d.warn(o)
	o.tellEvidence()
	return cmp.Or(d.Journal.Append(&journal.Result{
		Step: o.Step, Tool: o.Tool, OK: o.OK, ScratchpadID: o.ScratchpadID, SizeBytes: o.size, Content: content,
		Metadata: o.Metadata, Error: o.Error, Ms: took.Milliseconds(), Changes: changes,
		Kind: o.Kind, Facts: o.Facts, Note: o.Note, Warning: o.Warning, Images: pictures(o.Images), SHA256: o.parked, Evidence: o.evidence,
	}), refused)
}

// Change changes the state and records it.
func (d *Dispatcher) Change(changes ...scratchpad.Change) error {
	changes = d.mark(changes)
	if err := d.apply(changes); err != nil {
		return err
	}
	return d.Journal.Append(&journal.State{Changes: changes})
}

// apply changes the state, and takes out the secrets that the changes hold, also
// those that the operator wrote: what changes goes on to the journal.
func (d *Dispatcher) apply(changes []scratchpad.Change) error {
	for i, c := range changes {
		changes[i].Key, changes[i].Value = d.Redact.String(c.Key), d.Redact.Any(c.Value)
	}
	if err := d.State.Apply(changes...); err != nil {
		return fmt.Errorf("change the state: %w", err)
	}
	return nil
}

// Names are the names of everything that can be asked for.
func (d *Dispatcher) Names() []string {
	var names []string
	for _, t := range d.Offered() {
		names = append(names, t.Name)
	}
	return names
}

func (d *Dispatcher) now() time.Time { return clock.Now(d.Now) }
