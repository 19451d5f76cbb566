package proxy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"rouse/internal/object"
	"rouse/tools"
)

func TestIDKey(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1.0`, true}, {`1`, `"1"`, false}, {`"a"`, `"\u0061"`, true}, {`null`, ``, true}, {`9007199254740993`, `9007199254740992`, false},
		{`1e2`, `100`, true}, {`{}`, `[]`, false}, {`-1`, `-1`, true},
	} {
		if got := idKey([]byte(tt.a)) == idKey([]byte(tt.b)); got != tt.same {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}

// TestByteForByte: only what must change changes.
func TestByteForByte(t *testing.T) {
	tests := []struct{ name, from, want string }{
		{"a request", `{ "id" :1, "method":"tools/list","x":1e400 }`, `{ "id" :1, "method":"tools/list","x":1e400 }`},
		{"a call", `{"params": {"_meta":{"a":1.50},"arguments": {"b" : 1.0,"task_scratchpad":"n"}, "name":"t"} ,"method":"tools/call","id":"1"}`,
			`{"params": {"_meta":{"a":1.50},"arguments": {"b" : 1.0}, "name":"t"} ,"method":"tools/call","id":"1"}`},
		{"without a note", `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{ "b" : 1}}}`, `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{ "b" : 1}}}`},
		{"escaped", `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"task\u005fscratchpad":"n"}}}`, `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`},
		{"other keys", `{"ID":1,"Method":"tools/call","id":1,"params":{"arguments":{"task_scratchpad":"n"}}}`, `{"ID":1,"Method":"tools/call","id":1,"params":{"arguments":{"task_scratchpad":"n"}}}`},
		{"a notification", `{"method":"tools/call","params":{"arguments":{"task_scratchpad":"n"}}}`, `{"method":"tools/call","params":{"arguments":{"task_scratchpad":"n"}}}`},
		{"nonsense", `{"id":1,`, `{"id":1,`},
	}
	for _, tt := range tests {
		p := quietProxy(t)
		if got := p.newSession().client([]byte(tt.from)).forward; string(got) != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func quietProxy(t testing.TB) *Proxy {
	p := newRig(t).Proxy
	p.Notes.Path = ""
	p.prepare()
	return p
}

// TestSchemas: what a schema accepted is accepted with a note too, and what it
// refused is refused.
func TestSchemas(t *testing.T) {
	p := quietProxy(t)
	for _, tt := range []struct{ schema, good, bad string }{
		{`{"type":"object"}`, `{"a":1}`, `[]`},
		{`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, `{"a":1,"b":2}`},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}}`, `{"a":"x"}`, `{"c":1}`},
		{`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}],"unevaluatedProperties":false}`, `{"a":"x"}`, `{"a":1}`},
	} {
		tool := p.tool([]byte(`{"name":"t","inputSchema":` + tt.schema + `}`))
		var got struct{ InputSchema *jsonschema.Schema }
		if err := json.Unmarshal(tool, &got); err != nil {
			t.Fatal(err)
		}
		r, err := got.InputSchema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		var good map[string]any
		var bad any
		json.Unmarshal([]byte(tt.good), &good)
		json.Unmarshal([]byte(tt.bad), &bad)
		good[tools.NoteParam] = "a note"
		if err := r.Validate(good); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
		if r.Validate(bad) == nil {
			t.Errorf("%s accepts %s", tool, tt.bad)
		}
	}
}

// TestOutputSchemas that cannot be widened are left out.
func TestOutputSchemas(t *testing.T) {
	p := quietProxy(t)
	for schema, kept := range map[string]bool{
		`{"type":"object"}`: true, `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`: true,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`: false, `{"$id":"x","type":"object"}`: false, `7`: false,
	} {
		got, err := object.Parse(p.tool([]byte(`{"name":"t","outputSchema":` + schema + `,"inputSchema":{}}`)))
		if err != nil || (got.Get("outputSchema") != nil) != kept {
			t.Errorf("%s: %s, %v", schema, got.Text, err)
		}
	}
}

// FuzzMessages gives a session whatever there is from both sides. What comes out
// is JSON if what went in is, and means the same but for the note.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		hello, say, `{"id":1,"method":"tools/list"}`, `[{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"task_scratchpad":7}}},{}]`,
		`{"id":2,"result":{"content":[{"type":"text","text":"x"}],"structuredContent":{}}}`, `{"id":"a","method":"tools/call","params":{"arguments":{"task_scratchpad":"\ud800","task_scratchpad":[]}}}`,
		`{"id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"a":{}},"required":[1]},"outputSchema":{"$ref":"#"}},7]}}`, `{"a":{}}{}`, "\xff{\"id\":1}", `{"id":{},"method":"initialize","params":null}`,
	} {
		for _, other := range []string{say, `{"id":2,"result":{"content":[{"type":"text","text":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}]}}`, `{"id":1,"result":{"capabilities":{"tools":{}}}}`} {
			f.Add([]byte(seed), []byte(other))
		}
	}
	p := quietProxy(f)
	p.Threshold = 20
	f.Fuzz(func(t *testing.T, from, to []byte) {
		s := p.newSession()
		s.client([]byte(say))
		for _, m := range each(from, func(m []byte) [][]byte {
			pass := s.client(m)
			if pass.answer != nil && !json.Valid(pass.answer(t.Context())) {
				t.Errorf("answer to %s", m)
			}
			if pass.forward == nil {
				return nil
			}
			if !sameBut(m, pass.forward) {
				t.Errorf("%s became %s", m, pass.forward)
			}
			return [][]byte{pass.forward}
		}) {
			if json.Valid(from) && !json.Valid(m) {
				t.Errorf("%s became %s", from, m)
			}
		}
		for _, text := range [][]byte{to, from, to} {
			for _, m := range each(text, s.server) {
				if json.Valid(text) && !json.Valid(m) {
					t.Errorf("%s became %s", text, m)
				}
			}
		}
		for _, m := range s.fail("why") {
			if !json.Valid(m) {
				t.Errorf("%s", m)
			}
		}
	})
}

// sameBut says whether two messages are the same but for a note in the arguments.
func sameBut(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	for _, m := range []map[string]any{x, y} {
		params, _ := m["params"].(map[string]any)
		args, _ := params["arguments"].(map[string]any)
		delete(args, tools.NoteParam)
	}
	return reflect.DeepEqual(x, y)
}

// FuzzEvents reads any stream of events; what comes out whole is what went in.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(": ok\n\nevent: message\nid: a_1\nretry: 10\ndata: {}\ndata: x\n\ndata\n\nfield: y\r\n\r\n"))
	f.Add([]byte("data: unfinished"))
	p, large := quietProxy(f), quietProxy(f)
	p.MaxMessage = 1000
	f.Fuzz(func(t *testing.T, stream []byte) {
		events := p.events(bytes.NewReader(stream))
		var whole []byte
		for range 20 {
			e, err := events.Next()
			if err != nil {
				break
			}
			whole = append(whole, withData(e, e.Data)...)
			if again, err := large.events(bytes.NewReader(withData(e, []byte(`{"a":1}`)))).Next(); err != nil || string(again.Data) != `{"a":1}` || again.ID != e.ID {
				t.Errorf("%q: %q, %v", e.Raw, again.Raw, err)
			}
		}
		if !bytes.HasPrefix(stream, whole) {
			t.Errorf("%q became %q", stream, whole)
		}
	})
}
