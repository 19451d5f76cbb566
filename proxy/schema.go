package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"rouse/internal/lazy"
	"rouse/internal/object"
	"rouse/tools"
)

// readName is the tool that is added.
const readName = "scratchpad_read"

// list gives a page of a list of tools as the client sees it: each with the
// parameter for notes, and at the end of the list scratchpad_read: not every client
// asks again when the tools have changed.
func (p *Proxy) list(result []byte) ([]byte, bool) {
	o, err := object.Parse(result)
	if err != nil {
		return result, false
	}
	var list []json.RawMessage
	if json.Unmarshal(o.Get("tools"), &list) != nil || list == nil {
		return result, false
	}
	for i, t := range list {
		list[i] = p.tool(t)
	}
	if next := o.String("nextCursor"); next == "" && !p.theirs() {
		list = append(list, p.reader())
	}
	return o.With("tools", join(list)), true
}

func join(list []json.RawMessage) []byte {
	parts := make([][]byte, len(list))
	for i, t := range list {
		parts[i] = t
	}
	return bytes.Join([][]byte{[]byte("["), bytes.Join(parts, []byte(",")), []byte("]")}, nil)
}

// tool is one tool as the client sees it.
func (p *Proxy) tool(text json.RawMessage) json.RawMessage {
	o, err := object.Parse(text)
	if err != nil {
		return text
	}
	name, schema := o.String("name"), o.Get("inputSchema")
	p.learn(name, tools.HasOwnNote(schema))
	if schema == nil {
		return text
	}
	if decorated := tools.WithNote(schema, p.Mode, tools.NoteInFull); !bytes.Equal(decorated, schema) {
		text = o.With("inputSchema", decorated)
	}
	if o, err = object.Parse(text); err == nil && o.Get("outputSchema") != nil {
		text = widen(o)
	}
	return text
}

// learn notes what must be known of a tool when it is called.
func (p *Proxy) learn(name string, own bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil {
		p.own = map[string]bool{}
	}
	p.own[name] = own
}

// hasOwn says whether a tool has a parameter of its own that is called like the
// one for notes.
func (p *Proxy) hasOwn(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own[name]
}

// theirs says whether the server has a tool that is called like ours; then that
// is the one.
func (p *Proxy) theirs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.own[readName]
	return ok
}

// reader is scratchpad_read as a client lists it.
func (p *Proxy) reader() json.RawMessage {
	t := p.shelf.Reader()
	text, _ := json.Marshal(map[string]any{ // it is made of JSON
		"name": t.Name, "description": t.Description, "inputSchema": tools.WithNote(t.Parameters(), p.Mode, tools.NoteInFull),
		"annotations": map[string]any{"readOnlyHint": true, "openWorldHint": false},
	})
	return text
}

// viewSchema is what the synthetic view of a parked result looks like.
const viewSchema = `{"type":"object","properties":{"step":{"type":"integer"},"ok":{"type":"boolean"},"_note":{"type":"string"}},"required":["step","ok","_note"]}`

// inner are references that go on meaning the same when what they refer to is
// copied to the root of the schema around.
var inner = lazy.Regexp{Expr: `"\$ref"\s*:\s*"(#/\$defs/|#/definitions/)`}

var anyRef = lazy.Regexp{Expr: `"\$(ref|dynamicRef|recursiveRef)"`}

// widen lets the schema of a tool's structured results accept the synthetic view
// of a large one too. A schema of which nobody can tell what it refers to is left
// out: a client without one accepts every result.
func widen(o *object.Object) json.RawMessage {
	schema := o.Get("outputSchema")
	s, err := object.Parse(schema)
	if err != nil || s.Get("$id") != nil || len(anyRef.Get().FindAll(schema, -1)) != len(inner.Get().FindAll(schema, -1)) {
		o.Remove("outputSchema")
		return o.JSON()
	}
	wide, err := object.Parse(fmt.Appendf(nil, `{"type":"object","anyOf":[%s,%s]}`, schema, viewSchema))
	if err != nil {
		return o.Text
	}
	for _, key := range []string{"$schema", "$defs", "definitions"} {
		if value := s.Get(key); value != nil {
			wide.Set(key, value)
		}
	}
	return o.With("outputSchema", wide.JSON())
}
