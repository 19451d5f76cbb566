package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
	"time"
)

// dialogue is the conversation of a cycle, as far as it depends on nothing but
// what the journal has: a recorded one can be had again.
type dialogue struct {
	keeper *Keeper
	asking *Asking
	state  *scratchpad.State
	rules  string
	guide  string // what Rouse says beside them
	kept   string // what earlier cycles kept in the store of observations
	// archive is where finished tasks are that left the memory, "" without any.
	archive string

	dispatcher *dispatcher.Dispatcher
	talk       talk
	models     map[string]known         // nil until it is asked for
	remarks    []string                 // what the model should know
	carried    []dispatcher.Observation // of what people approved, before the first request

	offered []tools.Tool
	asked   int                          // tokens of the last request, estimated
	parked  map[[sha256.Size]byte]string // what is shown for parts of the memory
	hidden  map[string]any               // what the last request shows in place of values of the memory
	told    map[string]any               // the same, as the journal has it
}

// maxAnswer is how much one scratchpad_read gives, in bytes: about a quarter of
// a request.
func (d *dialogue) maxAnswer() int {
	most := d.maxTokens()
	if most <= 0 {
		return 0
	}
	return max(1024, most*3/4)
}

// speak begins the conversation of a cycle.
func (d *dialogue) speak(protocol string) {
	opt := conversation.Options{
		Rules: d.rules, Guide: d.guide, Redact: d.keeper.Redact, Notes: d.asking.Notes, MaxTokens: d.maxTokens(), Keep: d.asking.KeepResults,
		Park: d.dispatcher.Park, ParkText: d.dispatcher.ParkText, Repairable: d.dispatcher.Repairable,
		Form: d.recall().Form, Wrote: func(form string) { d.note(func(m *known) { m.Form = form }) },
	}
	if protocol == ProtocolJSON {
		d.talk = &conversation.JSON{Options: opt}
	} else {
		d.talk = &conversation.Native{Options: opt}
	}
	for _, o := range d.carried {
		d.talk.Add(o)
	}
	d.dispatcher.Visible = d.talk.Visible
}

// compose makes the next request of the conversation, all of it from what the
// journal has.
func (d *dialogue) compose(said *journal.Request, offered []tools.Tool) (model.Request, conversation.Pruned, error) {
	turn := conversation.Turn{
		State: d.view, Choose: said.Choose,
		Now: said.At, Left: time.Duration(said.Left) * time.Millisecond, Iteration: said.Iteration, Of: d.asking.MaxIterations,
		Tools: offered, Kept: d.kept,
	}
	turn.Urge = d.urge(turn)
	d.offered, d.hidden = offered, nil
	req, pruned, err := d.talk.Request(turn)
	d.asked, said.Tokens = pruned.Tokens, pruned.Tokens
	return req, pruned, err
}

// urge tells the model to come to an end when a fifth of what it has is left.
func (d *dialogue) urge(t conversation.Turn) string {
	left := t.Of - t.Iteration + 1
	switch {
	case t.Iteration > 1 && left*5 <= t.Of:
		return fmt.Sprintf("Iterations left in this cycle: %d or fewer. Come to an end: write down what the next cycle needs with update_scratchpad, and call done if the task is done.", t.Of/5)
	case t.Left > 0 && t.Left*5 <= d.asking.Timeout:
		return "Less than a fifth of the cycle's time is left. Come to an end: write down what the next cycle needs with update_scratchpad, and call done if the task is done."
	}
	return ""
}

// known is what earlier cycles found out about a model.
type known struct {
	Protocol  string `json:"protocol,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
	Form      string `json:"form,omitempty"` // in which it writes calls as text
	API       string `json:"api,omitempty"`  // that its server answers to, "" for chat
	// Away is until when others are asked first, and Why the reason.
	Away time.Time `json:"away,omitzero"`
	Why  string    `json:"why,omitempty"`
}

// recall gives what is known of the model that is asked.
func (d *dialogue) recall() known {
	if d.models == nil {
		d.models = map[string]known{}
		if text, err := os.ReadFile(d.keeper.Home.Models()); err == nil {
			_ = json.Unmarshal(text, &d.models) // what cannot be read is found out again
		}
	}
	return d.models[d.asking.ModelID]
}

// learn keeps what was found out, for later cycles. A home that cannot keep it
// finds it out again.
func (d *dialogue) learn(what func(*known)) {
	d.note(what)
	if text, err := json.MarshalIndent(d.models, "", "  "); err == nil {
		_ = disk.Replace(d.keeper.disk(), d.keeper.Home.Models(), append(text, '\n'), 0o600)
	}
}

// note takes in what was found out.
func (d *dialogue) note(what func(*known)) {
	m := d.recall()
	what(&m)
	d.models[d.asking.ModelID] = m
}

// tooLong is what is found out of a model that finds a request too long.
func (d *dialogue) tooLong(m *known) { m.MaxTokens = d.asked * 3 / 4 }

// protocol is the one to ask in: the configured one, unless the server is known
// to refuse tools.
func (d *dialogue) protocol() string {
	if d.asking.Protocol != "" && d.asking.Protocol != ProtocolAuto {
		return d.asking.Protocol
	}
	if d.recall().Protocol == ProtocolJSON {
		return ProtocolJSON
	}
	return ProtocolAuto
}

// maxTokens is how large a request may be: as configured, or less where the
// server was found to take less.
func (d *dialogue) maxTokens() int {
	if m := d.recall().MaxTokens; m > 0 && (d.asking.MaxTokens == 0 || m < d.asking.MaxTokens) {
		return m
	}
	return d.asking.MaxTokens
}
