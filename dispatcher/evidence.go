package dispatcher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rouse/internal/object"
	"rouse/internal/quote"
	"rouse/internal/text"
	"rouse/journal"
)

// evidenceParam is what done and other calls may have beside their own arguments.
const evidenceParam = "evidence"

// maxEvidence is how many quotes of one call are looked at.
const maxEvidence = 32

// takeEvidence takes what the model quotes out of the arguments of a call. A tool
// with a parameter of that name keeps it, as does a memory with such a key.
func (d *Dispatcher) takeEvidence(tool string, args json.RawMessage) (rest json.RawMessage, list []journal.Evidence) {
	if !bytes.Contains(args, []byte(evidenceParam)) {
		return args, nil
	}
	o, err := object.Parse(args)
	if err != nil || o.Get(evidenceParam) == nil {
		return args, nil
	}
	t, _ := d.Find(tool)
	if own, err := object.Parse(t.Parameters()); err == nil && own.Sub("properties").Get(evidenceParam) != nil {
		return args, nil
	}
	list, ok := readEvidence(o.Get(evidenceParam))
	if !ok && tool != "done" {
		return args, nil
	}
	o.Remove(evidenceParam)
	return o.JSON(), list
}

// readEvidence reads quotes, and says whether all were as they should be.
func readEvidence(raw json.RawMessage) (list []journal.Evidence, ok bool) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		items = []json.RawMessage{raw}
	}
	ok = len(items) > 0
	for _, item := range items[:min(len(items), maxEvidence)] {
		var given struct {
			Step  json.RawMessage
			Quote *string
		}
		err := json.Unmarshal(item, &given)
		step, wrong := strconv.Atoi(strings.TrimPrefix(strings.Trim(string(given.Step), `"`), "step"))
		if err != nil || wrong != nil || given.Quote == nil {
			list, ok = append(list, journal.Evidence{Quote: text.Cut(string(item), noteRunes), Unsupported: "it is not of the form {step, quote}"}), false
			continue
		}
		list = append(list, journal.Evidence{Step: step, Quote: *given.Quote})
	}
	return list, ok
}

// Given is what a step gave back, as far as it is there.
type Given struct {
	Texts []string
	// Open, unless nil, opens what of it is in the store.
	Open func() (io.ReadCloser, error)
}

// Prove looks each quote up in what its step gave back, and puts down why it proves
// nothing where it does not.
func Prove(ctx context.Context, list []journal.Evidence, given func(step int) (Given, error)) {
	bySteps := map[int][]*journal.Evidence{}
	for i := range list {
		e := &list[i]
		if e.Unsupported != "" {
			continue
		}
		if err := quote.Check(e.Quote); err != nil {
			e.Unsupported = err.Error()
			continue
		}
		e.Unsupported = notThere
		bySteps[e.Step] = append(bySteps[e.Step], e)
	}
	for step, some := range bySteps {
		g, err := given(step)
		if err == nil {
			err = g.prove(ctx, some)
		}
		for _, e := range some {
			if err != nil && e.Unsupported != "" {
				e.Unsupported = err.Error()
			}
		}
	}
}

// notThere is said of a quote that is not found.
const notThere = "it is not there: quote whole words and numbers as they stand"

func (g Given) prove(ctx context.Context, some []*journal.Evidence) error {
	var quotes []string
	for _, e := range some {
		quotes = append(quotes, e.Quote)
	}
	look := func(r io.Reader) error {
		found, err := quote.Find(ctx, r, quotes...)
		for i, ok := range found {
			if ok {
				some[i].Unsupported = ""
			}
		}
		return err
	}
	for _, t := range g.Texts {
		if err := look(strings.NewReader(t)); err != nil {
			return err
		}
	}
	if g.Open == nil {
		return nil
	}
	r, err := g.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return look(r)
}

// prove looks up what the model quotes with a call. Of one that is made again, the
// journal says what came of that.
func (d *Dispatcher) prove(ctx context.Context, o *Observation) {
	o.Args, o.evidence = d.takeEvidence(o.Tool, o.Args)
	if d.Past == nil {
		Prove(ctx, o.evidence, d.given)
	} else if then, err := d.Past(o.Step); err == nil && len(o.evidence) > 0 {
		o.evidence = then.Result.Evidence
	}
}

// given is what an earlier step gave back.
func (d *Dispatcher) given(step int) (Given, error) {
	o, ok := d.past[step]
	if !ok {
		return Given{}, fmt.Errorf("there is no step %d before this one", step)
	}
	g := Given{Texts: []string{Plainly(o.Content), o.Error, Plainly(o.Metadata)}}
	if o.ScratchpadID != "" {
		g.Texts[0], g.Open = "", func() (io.ReadCloser, error) { return d.open(o.ScratchpadID) }
	}
	return g, IsEvidence(o.Tool)
}

// Plainly is a content as the text that quotes are looked up in.
func Plainly(content any) string {
	if raw, ok := content.(json.RawMessage); ok {
		content = toldValue(raw)
	}
	switch c := content.(type) {
	case nil:
		return ""
	case string:
		return c
	case json.RawMessage:
		return string(c)
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return ""
	}
	return string(Plain(raw))
}

// IsEvidence says why what a tool gives back proves nothing: the agent's own actions
// give back the model's words.
func IsEvidence(tool string) error {
	if tool == "update_scratchpad" || tool == "done" {
		return errors.New("that step is no call of a tool")
	}
	return nil
}

// tellEvidence says to the model which of its quotes prove nothing.
func (o *Observation) tellEvidence() {
	said := text.Join(journal.Unsupported(o.evidence), "; ", func(e journal.Evidence) string { return e.String() + ": " + e.Unsupported })
	if said != "" {
		o.Warning = strings.TrimSpace(o.Warning + " unsupported evidence, marked so for whoever reads it: " + said)
	}
}

// marked is a text for the memory with what its evidence does not support.
func (o *Observation) marked(said string) string {
	if no := journal.Unsupported(o.evidence); len(no) > 0 {
		said += " [UNSUPPORTED " + text.Join(no, "; ", journal.Evidence.String) + "]"
	}
	return said
}
