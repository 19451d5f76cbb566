package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/tools"
)

// Asker is a model that can be asked, with what it costs.
type Asker struct {
	Model     agent.Model
	Name      string
	Price     budget.Price
	Priced    bool
	MaxOutput int
	Redact    *redact.Redactor
}

// Question is a request of a cycle that is put to another model, or under other rules.
type Question struct {
	Cycle string
	Asked agent.Asked
	Of    *Asker
}

// Ask says what is asked: the decisions of cycles, under other rules unless these are
// "", and of whom, by the name of the model that was asked then. What cannot be asked
// of a cycle is told.
func Ask(h home.Home, cycles []string, rules string, of func(model string) (*Asker, error)) (list []Question, missing []error, err error) {
	for _, id := range cycles {
		asked, err := agent.Decisions(h, id)
		if err != nil {
			missing = append(missing, &Impossible{id, err})
			continue
		}
		for _, q := range asked {
			if rules != "" {
				q = q.Under(rules)
			}
			who, err := of(q.Model)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, Question{id, q, who})
		}
	}
	return list, missing, nil
}

// Estimate is what questions cost, about and at most.
type Estimate struct {
	Cycles   int           `json:"cycles"`
	Requests int           `json:"requests"`
	Input    int           `json:"input"`
	Output   int           `json:"output"`
	Money    *budget.Money `json:"money"`   // nil where a model has no price
	AtMost   *budget.Money `json:"at_most"` // the same
	Currency string        `json:"currency"`
}

// Estimated is what questions cost if they are answered at the length of then, and at
// most.
func Estimated(list []Question, currency string) Estimate {
	e := Estimate{Currency: currency}
	var money, most budget.Money
	seen, priced := map[string]bool{}, true
	for _, q := range list {
		in, out := conversation.EstRequest(q.Asked.Request), q.Asked.Reply.Usage.Output
		seen[q.Cycle], priced = true, priced && q.Of.Priced
		e.Input, e.Output = e.Input+in, e.Output+out
		money += q.Of.Price.Cost(journal.Usage{Input: in, Output: out})
		most += q.Of.Price.Cost(journal.Usage{Input: budget.Tokens(q.Asked.Request), Output: q.Of.MaxOutput})
	}
	e.Cycles, e.Requests = len(seen), len(list)
	if priced {
		e.Money, e.AtMost = &money, &most
	}
	return e
}

// Verdicts on a decision.
const (
	Same      = "same"
	Arguments = "arguments" // the same tools, with other arguments
	Another   = "another"
	Unasked   = "unasked"
)

// Decision is what was done at one iteration, and what would be done now.
type Decision struct {
	Cycle     string       `json:"cycle"`
	Iteration int          `json:"iteration"`
	Verdict   string       `json:"verdict"`
	Recorded  []Action     `json:"recorded"`
	Now       []Action     `json:"now"`
	Problem   string       `json:"problem"` // why there is no action now
	Input     int          `json:"input"`
	Output    int          `json:"output"`
	Money     budget.Money `json:"money"`
}

// Action is one that a model asked for, without its note.
type Action struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

func (a Action) String() string {
	return fmt.Sprintf("%s(%s)", text.Line(a.Tool, 64), text.Line(string(a.Args), 300))
}

// Decide puts a question. Nothing of the answer is carried out. The error ends all
// questions: a limit.
func Decide(ctx context.Context, h home.Home, q Question) (d Decision, err error) {
	d = Decision{Cycle: q.Cycle, Iteration: q.Asked.Said.Iteration, Verdict: Unasked, Recorded: []Action{}, Now: []Action{}}
	d.Recorded, _ = q.actions(*q.Asked.Reply)
	if err := q.Asked.Fill(h); err != nil {
		d.Problem = err.Error()
		return d, nil
	}
	reply, err := q.Of.Model.Reply(ctx, q.Asked.Sent())
	if e, ok := errors.AsType[*budget.Exceeded](err); ok && e.Name == "cycle_money" {
		return d, errors.New("max_money: " + e.Text)
	} else if ok || ctx.Err() != nil {
		return d, err
	}
	if err != nil {
		d.Problem = q.Of.Redact.String(err.Error())
		return d, nil
	}
	u := reply.Usage
	d.Input, d.Output, d.Money = u.Input, u.Output, q.Of.Price.Cost(journal.Usage(u))
	if d.Now, err = q.actions(reply); err != nil {
		d.Problem = q.Of.Redact.String(err.Error())
	}
	d.Verdict = compareActions(d.Recorded, d.Now)
	return d, nil
}

func (q Question) actions(reply model.Reply) (list []Action, err error) {
	actions, err := q.Asked.Actions(reply)
	list = []Action{}
	for _, a := range actions {
		args, _ := tools.TakeNote(dispatcher.Plain(a.Args))
		var compact bytes.Buffer
		if json.Compact(&compact, args) != nil { // what the model meant for arguments
			line, _ := json.Marshal(string(args)) // a text has a JSON form
			compact.Reset()
			compact.Write(line)
		}
		list = append(list, Action{q.Of.Redact.String(a.Tool), q.Of.Redact.JSON(compact.Bytes())})
	}
	return list, err
}

func compareActions(was, is []Action) string {
	tools := func(a, b Action) bool { return a.Tool == b.Tool }
	if !slices.EqualFunc(was, is, tools) {
		return Another
	}
	if !slices.EqualFunc(was, is, func(a, b Action) bool { return bytes.Equal(canonical(a.Args), canonical(b.Args)) }) {
		return Arguments
	}
	return Same
}

// canonical is JSON with its keys in order.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	line, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return line
}
