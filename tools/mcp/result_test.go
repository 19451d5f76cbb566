package mcp

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

func TestContents(t *testing.T) {
	picture := func(kind string) []tools.Media { return []tools.Media{{Type: kind, Data: []byte(mcptest.Pixel)}} }
	tests := []struct {
		kind string
		want answer
	}{
		{"lines", answer{out: "one\ntwo\nthree", Result: tools.Result{OK: true}}},
		{"nothing", answer{Result: tools.Result{OK: true}}},
		{"failure", answer{out: "no such file\nsecond line", Result: tools.Result{Error: "the tool reports an error: no such file second line"}}},
		{"structured", answer{out: "{\n  \"id\": 12345678901234567890,\n  \"b\": [\n    1\n  ]\n}", Result: tools.Result{OK: true}}},
		{"twice", answer{out: `{"n":1,"a":[2]}`, Result: tools.Result{OK: true}}},
		{"same", answer{out: "a\nb", Result: tools.Result{OK: true}}},
		{"beside", answer{out: "it is warm\n{\n  \"celsius\": 21\n}", Result: tools.Result{OK: true}}},
		{"image", answer{out: "a picture", Result: tools.Result{OK: true, Media: picture("image/gif")}}},
		{"audio", answer{Result: tools.Result{OK: true, Media: picture("audio/wav")}}},
		{"blob", answer{Result: tools.Result{OK: true, Media: picture("image/gif")}}},
		{"resource", answer{out: "a\nb", Result: tools.Result{OK: true}}},
		{"link", answer{out: `[resource http://169.254.169.254/latest "cre dentials", 7 bytes, not fetched]`, Result: tools.Result{OK: true}}},
	}
	r := newRig(t)
	s := r.start(r.server("good", "good"))
	for _, tt := range tests {
		got := call(t, s, "good__show", `{"text":"`+tt.kind+`"}`)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.kind, diff)
		}
	}
}

// TestSchemas: models see a schema as its server wrote it, and we check what we
// understand of it.
func TestSchemas(t *testing.T) {
	r := newRig(t)
	s := r.start(r.server("digits", "digits"))
	tool := s.Tools()[0]
	if string(tool.Raw) != mcptest.DigitsSchema {
		t.Errorf("got %s", tool.Raw)
	}
	if err := tool.Check([]byte(`{"z":1}`)); err != nil {
		t.Error(err)
	}
	if err := tool.Check([]byte(`{"a":"no z"}`)); err == nil {
		t.Error("a missing argument fits")
	}
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:   `{"a":1}`,
		`{"type":"object","properties":{"a":{"$ref":"x:y/z"}}}`:    "",
		`{"type":"object","properties":{"a":{"pattern":"(?!x)"}}}`: "",
		`{"type":7}`: "",
		`[]`:         "",
		`true`:       "",
		`{}`:         "",
	} {
		raw2, schema := rawTool{InputSchema: []byte(raw)}.schemas()
		tool := tools.Tool{Name: "t", Schema: schema}
		if err := tool.Check([]byte(`{"b":1}`)); err != nil || (raw[0] == '{') != (string(raw2) == raw) {
			t.Errorf("%s: %v, shown as %s", raw, err, raw2)
		}
		if want != "" && tool.Check([]byte(want)) == nil {
			t.Errorf("%s: %s fits", raw, want)
		}
	}
}

// state gives the states of a server's tools, as name=state.
func state(s *Servers) string {
	var list []string
	for _, o := range s.Offers() {
		list = append(list, o.Tool+"="+string(o.State))
	}
	return strings.Join(list, " ")
}

// TestPins: a tool that is not word for word the accepted one is off, between
// cycles and within one.
func TestPins(t *testing.T) {
	r := newRig(t)
	first := r.start(r.server("s", "good"))
	if len(first.News()) != 1 {
		t.Errorf("news: %q", first.News())
	}
	first.Close()
	if s := r.start(r.server("s", "good")); len(s.News())+len(s.Problems()) > 0 || state(s) != "say=on show=on" {
		t.Errorf("again: %q %q %s", s.News(), s.Problems(), state(s))
	}
	other := r.start(r.server("s", "digits"))
	if state(other) != "say=changed" || len(other.Tools()) > 0 || !has(other.Problems(), `«rouse mcp accept s»: "say" (changed)`) {
		t.Errorf("changed: %s %q", state(other), other.Problems())
	}
	before, err := other.Accept("s")
	if err != nil || len(before) != 1 || before[0].State != Changed || state(other) != "say=on" || len(other.Tools()) != 1 {
		t.Errorf("accepted: %v %+v %s", err, before, state(other))
	}
	back := r.start(r.server("s", "good"))
	if state(back) != "say=changed show=new" {
		t.Errorf("back: %s", state(back))
	}
	if fi, err := os.Stat(r.o.Pins); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	for _, name := range []string{"other", ""} {
		if _, err := back.Accept(name); err == nil {
			t.Errorf("accepted %q", name)
		}
	}
}

// TestChangeDuringCycle: a call to a tool that changed under way is not sent.
func TestChangeDuringCycle(t *testing.T) {
	for mode, want := range map[string]string{"changes": "off until", "gone": "does not have the tool any more"} {
		r := newRig(t)
		s := r.start(r.server("s", mode))
		if got := call(t, s, "s__say", `{}`); !got.OK {
			t.Errorf("got %+v", got)
		}
		tool, _ := tools.NewSet(s.Tools()...)
		say, _ := tool.Find("s__say")
		for range 2 {
			got := say.Run(t.Context(), tools.Call{Args: []byte(`{}`)})
			if got.OK || !strings.Contains(got.Error, want) || !strings.Contains(got.Error, "not carried out") {
				t.Errorf("%s: got %+v", mode, got)
			}
		}
		if data, _ := os.ReadFile(r.dir + "/effect"); strings.Count(string(data), "\n") != 1 {
			t.Errorf("%s: effects %q", mode, data)
		}
	}
}

// TestPinsUnreadable: without its record of what was accepted, nothing is on,
// and nothing is accepted anew.
func TestPinsUnreadable(t *testing.T) {
	for _, content := range []string{"", "{", `{"v":2}`, `{"v":1,"servers":[]}`} {
		r := newRig(t)
		if err := os.WriteFile(r.o.Pins, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := r.start(r.server("s", "good"))
		if len(s.Tools()) > 0 || !has(s.Problems(), "pins.json") {
			t.Errorf("%q: %q", content, s.Problems())
		}
		if _, err := s.Accept("s"); err == nil {
			t.Errorf("%q: accepted", content)
		}
		if data, _ := os.ReadFile(r.o.Pins); string(data) != content {
			t.Errorf("%q became %q", content, data)
		}
	}
}
