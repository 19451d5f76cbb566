package dispatcher

import (
	"bytes"
	"encoding/json"
	"strings"

	"rouse/journal"
	"rouse/tools"
)

// pictures names the pictures that the model is shown.
func pictures(list []tools.Media) (all []journal.Picture) {
	for _, m := range list {
		all = append(all, journal.Picture{Type: m.Type, Sum: m.Sum, ID: m.ID})
	}
	return all
}

// Told is the observation that an action gave, from what the journal has of it:
// the result and, as the line has them, its content and its metadata.
func (d *Dispatcher) Told(a Action, r *journal.Result, line json.RawMessage) (Observation, error) {
	var raw struct {
		Content  json.RawMessage
		Metadata map[string]json.RawMessage
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return Observation{}, err
	}
	a = d.called(a)
	o := Observation{
		Step: r.Step, Tool: r.Tool, Args: d.toldArgs(a), OK: r.OK, Error: r.Error, ScratchpadID: r.ScratchpadID,
		Kind: r.Kind, Facts: r.Facts, Note: r.Note, Warning: r.Warning,
	}
	for _, p := range r.Images {
		o.Images = append(o.Images, tools.Media{Type: p.Type, Sum: p.Sum, ID: p.ID})
	}
	for name, v := range raw.Metadata {
		if o.Metadata == nil {
			o.Metadata = map[string]any{}
		}
		o.Metadata[name] = toldValue(v)
	}
	switch {
	case o.ScratchpadID != "":
		o.SizeBytes = r.SizeBytes
		o.Summary, _ = toldValue(raw.Content).(string)
	case len(raw.Content) > 0:
		o.Content = toldValue(raw.Content)
	}
	return o, nil
}

// toldValue is a value of a journal, whose JSON is as it was.
func toldValue(raw json.RawMessage) any {
	var text string
	switch {
	case string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return Plain(raw)
}

// toldArgs are the arguments of an action as its observation shows them.
func (d *Dispatcher) toldArgs(a Action) json.RawMessage {
	args := a.Args
	var compact bytes.Buffer
	if json.Compact(&compact, args) == nil {
		args = compact.Bytes()
	}
	args, _ = d.takeEvidence(a.Tool, args)
	t, _ := d.Find(a.Tool)
	if d.Notes != "" && d.Notes != tools.NoteOff && !t.HasOwnNote() {
		args, _ = tools.TakeNote(args)
	}
	return args
}

// Plain is JSON without the escapes that package json adds for HTML. A backslash that
// is itself escaped begins none.
func Plain(raw json.RawMessage) json.RawMessage {
	plain := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	return json.RawMessage(plain.Replace(string(raw)))
}
