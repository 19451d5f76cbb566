// Package journal is the record of a cycle: one line of JSON for each event,
// written as it happens and before the next thing happens.
//
// The journal is what makes a crash only an early sleep. It holds each reply of
// the model, the intent of each call before it starts, its result after, and
// each change of the memory, so that [Rebuild] can give back the state that an
// interrupted cycle had reached. An intent without a result is a call whose
// outcome is unknown.
//
// A file holds one cycle. Every line has the fields of [Header]; the others
// depend on the kind of event, and each kind is a type of this package. Names of
// events and fields never change meaning; new ones may be added.
//
// # The chain
//
// A line is sealed by its last field, mac, so that it is checked as the bytes
// that it is and not as JSON written anew. Where
//
//	{"v":1,"seq":7,…,"ms":12}
//
// is the line without it, mac is the HMAC-SHA256, keyed with the home's key, of
// the 32 bytes of the mac of the line before and these bytes; the line is then
//
//	{"v":1,"seq":7,…,"ms":12,"mac":"64 lower-case hexadecimal digits"}
//
// and a line feed, which is not part of it. Before the first line the mac is that
// of nothing and "rouse journal <cycle>", so that lines cannot be moved to another
// journal. Empty lines and those that are no JSON, such as the half line or the
// zeroes that a crash left, are not part of the chain.
//
// The chain proves that a line was written by somebody with the key, in this
// place. It does not prove that the end is there: without its last lines a journal
// looks as after a crash. Nor does it prove anything against a tool that reads the
// key, removes the journal whole, or changes the memory itself.
package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"rouse/internal/jsonl"
	"rouse/internal/proc"
	"rouse/scratchpad"
)

// Version is the value of `v` in the lines that this program writes.
const Version = 1

// Header is what every line has.
type Header struct {
	V     int       `json:"v"`
	Seq   int       `json:"seq"`  // from 1, without gaps
	Time  time.Time `json:"time"` // RFC 3339 with offset
	Cycle string    `json:"cycle"`
	Event string    `json:"event"`
}

// Event is one line. Data is one of the payload types of this package as a
// pointer, or nil for an event that this version does not know.
type Event struct {
	Header
	Data Payload
	// Line is the line as it was read, with what this version does not know.
	Line json.RawMessage
}

// Payload is what an event says beyond its [Header].
type Payload interface{ event() string }

// Wake opens a journal.
type Wake struct {
	// Settled is the interrupted cycle that this one settled first, or "".
	Settled string `json:"settled"`
	// Base is the SHA-256, in hexadecimal, of the memory as it was read; ""
	// where there was no file.
	Base string `json:"base"`
	// Owner is the process that runs the cycle.
	Owner proc.Identity `json:"owner"`
	// Mark is in the environment of every process that the cycle starts.
	Mark string `json:"mark"`
	// Warning is something that the operator should look at.
	Warning string `json:"warning,omitempty"`
	// Version is the binary's, and Made the SHA-256, by name, of what the cycle was
	// made of, such as rules.md; logs/made has a copy of each under that name.
	Version string            `json:"version,omitempty"`
	Made    map[string]string `json:"made,omitempty"`
	// Trust is what the cycle relies on, as far as it is known when it wakes.
	Trust *Trust `json:"trust,omitempty"`
	// Sandbox says what confines the processes of tools; "" where nothing is to.
	Sandbox string `json:"sandbox,omitempty"`
}

// Made says what else the cycle is made of, once that is known, and again where it
// changes.
type Made struct {
	Made map[string]string `json:"made"` // as in [Wake]
	// Terms, in the first, are on what the requests depend beside that.
	Terms *Terms `json:"terms,omitempty"`
}

// Terms are on what the requests of a cycle depend, beside what happens in it.
type Terms struct {
	Protocol   string `json:"protocol"`
	Notes      string `json:"notes,omitempty"`
	Iterations int    `json:"iterations"` // at most
	Timeout    int64  `json:"timeout_ms"`
	MaxTokens  int    `json:"max_tokens,omitempty"`
	Learned    int    `json:"learned_tokens,omitempty"` // less than that, found out earlier
	Form       string `json:"form,omitempty"`           // in which the model is known to write calls as text
	Keep       int    `json:"keep_results,omitempty"`
	Model      string `json:"model,omitempty"`
	MaxOutput  int    `json:"max_output,omitempty"`
	Style      string `json:"style,omitempty"` // what the configuration adds to each request
	// Kept is what was said of observations that earlier cycles kept.
	Kept string `json:"kept,omitempty"`
	// Archive is the file of the finished tasks that the memory does not have any more.
	Archive string `json:"archive,omitempty"`
	// Task is what the cycle was given to do, Attempt which cycle of its slot it is, and
	// Checks what must hold for the task, as tasks carry them.
	Task    string `json:"task,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Checks  []any  `json:"checks,omitempty"`
}

// Parked says that a text left what the model is shown, for the scratchpad.
type Parked struct {
	Step  int    `json:"step,omitempty"`
	From  string `json:"from"`
	ID    string `json:"scratchpad_id,omitempty"`
	Error string `json:"error,omitempty"`
}

// Request says that the model is about to be asked.
type Request struct {
	Iteration int `json:"iteration"`
	Tokens    int `json:"tokens"` // estimated
	// For is what is asked for where that is not the next action, such as summary.
	For string `json:"for,omitempty"`
	// At is the time that the model was told, and Left how long it had.
	At   time.Time `json:"at,omitzero"`
	Left int64     `json:"left_ms,omitempty"`
	// Choose says that it was to choose a task.
	Choose bool `json:"choose,omitempty"`
	// Hidden are the values of the memory that were shown without a secret.
	Hidden map[string]any `json:"hidden,omitempty"`
	// Sum is a SHA-256 of the request.
	Sum string `json:"sum,omitempty"`
}

// Reply is what the model answered.
type Reply struct {
	Text    string          `json:"text"`
	Refusal string          `json:"refusal,omitempty"` // why the model does not answer
	Calls   json.RawMessage `json:"calls,omitempty"`
	Kept    json.RawMessage `json:"kept,omitempty"` // reasoning, as its server wants it back
	Usage   Usage           `json:"usage"`
	Finish  string          `json:"finish,omitempty"`
	Ms      int64           `json:"ms"`
	// Model is the one that answered, by its configured name.
	Model string `json:"model,omitempty"`
	// For is that of the request.
	For string `json:"for,omitempty"`
	// Args are the arguments of all calls as the model wrote them, where Calls has
	// them in another form.
	Args []string `json:"args,omitempty"`
	// Form is what the server wants otherwise, and Told what was said at the end of
	// the request of what may still be spent.
	Form string `json:"form,omitempty"`
	Told string `json:"told,omitempty"`
}

// Intent says that a call is about to start.
type Intent struct {
	Step int             `json:"step"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	PID  int             `json:"pid"` // of the process that carries the call out
	// Effect is what the call may change, where walls allow less than its tool could.
	Effect string `json:"effect,omitempty"`
	// Approval is the id of what a person has approved, which this is.
	Approval string `json:"approval,omitempty"`
}

// Started names a process that a call has started.
type Started struct {
	Step    int           `json:"step"`
	Process proc.Identity `json:"process"`
}

// Result is the outcome of a call.
type Result struct {
	Step         int             `json:"step"`
	Tool         string          `json:"tool"`
	OK           bool            `json:"ok"`
	ScratchpadID string          `json:"scratchpad_id,omitempty"`
	SizeBytes    int64           `json:"size_bytes"`
	Content      json.RawMessage `json:"content,omitempty"` // as the model sees it
	Metadata     map[string]any  `json:"metadata,omitempty"`
	Error        string          `json:"error,omitempty"`
	Ms           int64           `json:"ms"`
	// Changes are what the memory keeps of the call.
	Changes []scratchpad.Change `json:"changes,omitempty"`
	// What else the model sees of it.
	Kind    string    `json:"kind,omitempty"`
	Facts   string    `json:"facts,omitempty"`
	Note    string    `json:"note,omitempty"`
	Warning string    `json:"warning,omitempty"`
	Images  []Picture `json:"images,omitempty"`
	SHA256  string    `json:"sha256,omitempty"` // of what is in the scratchpad
	// Evidence is what the model quoted with the call.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Note is what the model wrote of earlier results when it asked for a step.
type Note struct {
	Step int    `json:"step"`
	Text string `json:"text"`
	// From are the results that the model could see: the id of each that is in
	// the scratchpad, else its step, as "step3".
	From []string `json:"from,omitempty"`
	// Changes are what the memory keeps of it.
	Changes []scratchpad.Change `json:"changes,omitempty"`
}

// Prune says that old results were replaced by stubs, after they were parked.
type Prune struct {
	Steps []int `json:"steps"`
	// Folded is how many of the oldest iterations became part of one message.
	Folded int `json:"folded,omitempty"`
	// Tokens are what is left, estimated.
	Tokens int `json:"tokens"`
}

// Protocol says that the cycle goes on in another protocol than it began with.
type Protocol struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Model says that the cycle asks another model than its first from now on.
type Model struct {
	Name    string `json:"name"`
	Instead string `json:"instead"` // the one that it does not ask
	Reason  string `json:"reason"`  // and why
}

// Warning is something that the operator should look at.
type Warning struct {
	Text string `json:"text"`
	// Changes are what the memory keeps of it.
	Changes []scratchpad.Change `json:"changes,omitempty"`
	// Shown says that the model was told too.
	Shown bool `json:"shown,omitempty"`
}

// State is a change of the memory that has been made.
type State struct {
	Changes []scratchpad.Change `json:"changes"`
	// Told are the files of the inbox whose tasks it takes in.
	Told []string `json:"told,omitempty"`
}

// Limit names a limit that ended the cycle.
type Limit struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Retry says that a request is sent again after a wait.
type Retry struct {
	Attempt int    `json:"attempt"`
	Wait    int64  `json:"wait_ms"`
	Error   string `json:"error"`
}

// Sleep closes a journal: the memory is saved.
type Sleep struct {
	Outcome    string `json:"outcome"`
	Exit       int    `json:"exit"`
	Error      string `json:"error,omitempty"`
	Iterations int    `json:"iterations"`
	Tokens     int    `json:"tokens"`
	Ms         int64  `json:"ms"`
	// Attempt is which cycle of its slot this one is, from the second on.
	Attempt int `json:"attempt,omitempty"`
	// Fallback says which model was asked in place of the first, the last of them.
	Fallback *Model `json:"fallback,omitempty"`
	// EmptyNotes counts the calls that came without a note.
	EmptyNotes int `json:"empty_notes,omitempty"`
	// Trust is what the next cycle may rely on.
	Trust *Trust `json:"trust,omitempty"`
	// Task is what became of the cycle's task, one of the verdicts.
	Task string `json:"task,omitempty"`
	// Unmet are the checks that do not hold, each with what was seen, and Flaky those
	// that held at a second try.
	Unmet []string `json:"unmet,omitempty"`
	Flaky []string `json:"flaky,omitempty"`
	// FailedCalls counts the calls that went wrong, RefusedCalls those that were
	// not carried out because they may not be.
	FailedCalls  int `json:"failed_calls,omitempty"`
	RefusedCalls int `json:"refused_calls,omitempty"`
	Unsupported  int `json:"unsupported,omitempty"` // quotes that prove nothing
	// Refused is what the sandbox refused.
	Refused []Refusal `json:"refused,omitempty"`
	// Unproven counts the lines of an interrupted cycle that its journal's chain
	// does not prove: the memory has nothing of them.
	Unproven int `json:"unproven,omitempty"`
	// Vouched is for lines that a person vouched for later.
	Vouched *Vouched `json:"vouched,omitempty"`
	// Left has the SHA-256 of the files of the home that others may change, by name,
	// as the cycle left them, and Changed what others changed since the cycle before.
	Left    map[string]string `json:"left,omitempty"`
	Changed []Changed         `json:"changed,omitempty"`
	// Shrunk are keys of the memory that a person wrote and the cycle cut down.
	Shrunk []Shrunk `json:"shrunk,omitempty"`
	// Rewound is the cycle to before which a person put the home back: then nothing ran.
	Rewound string `json:"rewound,omitempty"`
	// Forgotten counts the lines that a value was taken out of, after which they were
	// sealed anew.
	Forgotten int `json:"forgotten,omitempty"`
}

// Outcomes of a cycle.
const (
	Done    = "done"
	Failed  = "failed"
	Limited = "limit"
	Idle    = "idle"
	Waiting = "waiting" // all that is left waits for approvals; exit 0
	Lost    = "lost"    // the cycle's lease on the home was lost; exit 1
	Signal  = "signal"
)

func (*Wake) event() string     { return "wake" }
func (*Made) event() string     { return "made" }
func (*Parked) event() string   { return "parked" }
func (*Request) event() string  { return "request" }
func (*Reply) event() string    { return "reply" }
func (*Intent) event() string   { return "intent" }
func (*Started) event() string  { return "started" }
func (*Result) event() string   { return "result" }
func (*Note) event() string     { return "note" }
func (*Prune) event() string    { return "prune" }
func (*Protocol) event() string { return "protocol" }
func (*Model) event() string    { return "model" }
func (*Warning) event() string  { return "warning" }
func (*State) event() string    { return "state" }
func (*Limit) event() string    { return "limit" }
func (*Retry) event() string    { return "retry" }
func (*End) event() string      { return "end" }
func (*Sleep) event() string    { return "sleep" }

// words are the texts of a payload that anybody may have worded: an error quotes
// a file, a warning a server. What models and tools say is clean before.
func words(p Payload) []*string {
	switch d := p.(type) {
	case *Wake:
		return []*string{&d.Warning, &d.Sandbox}
	case *Result:
		return []*string{&d.Error}
	case *Protocol:
		return []*string{&d.Reason}
	case *Model:
		return []*string{&d.Reason}
	case *Warning:
		return []*string{&d.Text}
	case *Limit:
		return []*string{&d.Text}
	case *Retry:
		return []*string{&d.Error}
	case *Refused:
		return []*string{&d.What}
	case *Policy:
		return []*string{&d.Why}
	case *Approval:
		return []*string{&d.Why}
	case *End:
		return []*string{&d.Error}
	case *Sleep:
		if d.Fallback != nil {
			return []*string{&d.Error, &d.Fallback.Reason}
		}
		return []*string{&d.Error}
	}
	return nil
}

// payload gives an empty payload of the kind, or nil.
func payload(kind string) Payload {
	for _, p := range []Payload{
		new(Wake), new(Request), new(Reply), new(Intent), new(Started), new(Result),
		new(State), new(Limit), new(Retry), new(End), new(Sleep), new(Note), new(Prune), new(Protocol), new(Warning), new(Made), new(Accepted), new(Parked), new(Changed), new(Model), new(Tidied), new(Refused), new(Policy), new(Approval), new(Origin), new(Kept), new(Rewound), new(Variables), new(Checked),
	} {
		if p.event() == kind {
			return p
		}
	}
	return nil
}

// MarshalJSON writes the header and the payload as one flat object; an event
// that was read is written as it was.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Line != nil {
		return e.Line, nil
	}
	head, err := encode(e.Header)
	if err != nil || e.Data == nil {
		return head, err
	}
	body, err := encode(e.Data)
	if err != nil {
		return nil, err
	}
	if len(body) == len("{}") {
		return head, nil
	}
	return append(append(head[:len(head)-1], ','), body[1:]...), nil
}

// UnmarshalJSON reads one line.
func (e *Event) UnmarshalJSON(line []byte) error {
	if err := json.Unmarshal(line, &e.Header); err != nil {
		return err
	}
	if e.Header.Event == "" {
		return fmt.Errorf("line without an event")
	}
	e.Data, e.Line = payload(e.Header.Event), bytes.Clone(line)
	if e.Data == nil {
		return nil
	}
	return json.Unmarshal(line, e.Data)
}

// encode is json.Marshal that leaves <, > and & readable.
func encode(v any) ([]byte, error) {
	line, err := jsonl.Marshal(v)
	return bytes.TrimSuffix(line, []byte("\n")), err
}
