package dispatcher

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"rouse/tools"
)

// steps answers look-ups from a text, a JSON value, and a text that only streams.
func steps(step int, path []string) (referred, error) {
	switch {
	case step == 1:
		v, err := field(map[string]any{"content": "one {{step1.content}}", "metadata": map[string]any{"n": json.Number("7"), "list": []any{"a", true}}}, path)
		return referred{value: v}, err
	case step == 2:
		text := strings.Repeat("é", 100<<10)
		return referred{size: int64(len(text)), open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}, nil
	case step == 3:
		return referred{size: 5, open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("small")), nil }}, nil
	}
	return referred{}, errors.New("there is no such step yet")
}

func shared(id string, path []string) (referred, error) { return referred{value: id + path[0]}, nil }

func TestReferences(t *testing.T) {
	tool := tools.Tool{Name: "t", Streams: []string{"body"}, Verbatim: []string{"command"}}
	tests := []struct {
		name, args string
		want       string // the arguments, or
		err        string // part of the error
		streamed   int    // bytes of body that are streamed
	}{
		{name: "none", args: `{"a":"x {{ y }}","n":1.50}`, want: `{"a":"x {{ y }}","n":1.50}`},
		{name: "whole text", args: `{"a":"{{step1.content}}"}`, want: `{"a":"one {{step1.content}}"}`},
		{name: "whole value keeps its type", args: `{"a":"{{step1.metadata.n}}","b":"{{step1.metadata.list}}"}`, want: `{"a":7,"b":["a",true]}`},
		{name: "list index", args: `{"a":"{{step1.metadata.list.1}}"}`, want: `{"a":true}`},
		{name: "spliced", args: `{"a":"n={{step1.metadata.n}}, l={{ step1.metadata.list }}"}`, want: `{"a":"n=7, l=[\"a\",true]"}`},
		{name: "nested", args: `{"a":[{"b":"{{step1.metadata.n}}"}]}`, want: `{"a":[{"b":7}]}`},
		{name: "not recursive", args: `{"a":"<{{step1.content}}>"}`, want: `{"a":"\u003cone {{step1.content}}\u003e"}`},
		{name: "streamed", args: `{"body":"{{step2.content}}"}`, want: `{"body":""}`, streamed: 200 << 10},
		{name: "small text that streams", args: `{"a":"{{step3.content}}"}`, want: `{"a":"small"}`},
		{name: "key is not looked at", args: `{"{{step1.content}}":1}`, want: `{"{{step1.content}}":1}`},

		{name: "shared", args: `{"a":"{{fleet:0123456789abcdef.content}}","b":"{{fleet:x.content}}"}`, want: `{"a":"0123456789abcdefcontent","b":"{{fleet:x.content}}"}`},
		{name: "shared, executed", args: `{"command":"{{fleet:0123456789abcdef.content}}"}`, err: "command is executed or dialled"},
		{name: "shared without a field", args: `{"a":"{{fleet:0123456789abcdef}}"}`, err: "write a reference as {{step3.content}}"},
		{name: "executed", args: `{"command":"echo {{step1.content}}"}`, err: "command is executed or dialled"},
		{name: "executed, nested", args: `{"command":{"x":["{{step1.content}}"]}}`, err: "pass the content as body"},
		{name: "too large to splice", args: `{"a":"<{{step2.content}}>"}`, err: "the limit is 65536"},
		{name: "too large for a value", args: `{"a":"{{step2.content}}"}`, err: "the limit is 65536"},
		{name: "too large in parts", args: `{"a":"` + strings.Repeat("{{step1.content}}", 4000) + `"}`, err: "the limit is 65536"},
		{name: "missing step", args: `{"a":"{{step9.content}}"}`, err: "{{step9.content}}: there is no such step yet"},
		{name: "huge step", args: `{"a":"{{step99999999999999999999.content}}"}`, err: "write a reference as"},
		{name: "missing field", args: `{"a":"{{step1.metadata.x}}"}`, err: "there is no metadata.x"},
		{name: "index past the end", args: `{"a":"{{step1.metadata.list.2}}"}`, err: "the list has 2 items"},
		{name: "into a text", args: `{"a":"{{step1.content.x}}"}`, err: "there is no content.x"},
		{name: "no field", args: `{"a":"{{step1}}"}`, err: "write a reference as {{step3.content}}"},
		{name: "empty field", args: `{"a":"{{step1..content}}"}`, err: "write a reference as"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &resolver{tool: tool, lookup: steps, shared: shared, streams: map[string]io.ReadCloser{}}
			defer r.close()
			got := r.resolve(json.RawMessage(tt.args))
			if tt.err != "" {
				if r.err == nil || !strings.Contains(r.err.Error(), tt.err) {
					t.Errorf("error %v, want %q", r.err, tt.err)
				}
				return
			}
			if r.err != nil || string(got) != tt.want {
				t.Errorf("%s, %v; want %s", got, r.err, tt.want)
			}
			if s := r.streams["body"]; tt.streamed > 0 {
				if n, err := io.Copy(io.Discard, s); err != nil || int(n) != tt.streamed {
					t.Errorf("streamed %d, %v; want %d", n, err, tt.streamed)
				}
			}
		})
	}
}

// Whatever the arguments are, what comes of them is valid JSON or an error, is
// bounded, and nothing that a reference brought in is expanded again.
func FuzzReferences(f *testing.F) {
	f.Add(`{"a":"{{step1.content}}{{step3.content}}"}`)
	f.Add(`{"a":["{{step1.metadata.list.0}}",{"command":"{{step1}}"}]}`)
	f.Fuzz(func(t *testing.T, args string) {
		var object map[string]any
		if json.Unmarshal([]byte(args), &object) != nil || object == nil {
			return
		}
		r := &resolver{tool: tools.Tool{Verbatim: []string{"command"}}, lookup: steps, shared: shared, streams: map[string]io.ReadCloser{}}
		out := r.resolve(json.RawMessage(args))
		if r.err != nil {
			return
		}
		if !json.Valid(out) || len(out) > 6*len(args)+2*maxSplice {
			t.Errorf("%q became %d bytes %.200q", args, len(out), out)
		}
		var after map[string]any
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatal(err)
		}
		if holdsReference(object["command"]) {
			t.Errorf("%q was let through", args)
		}
	})
}
