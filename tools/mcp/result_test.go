package mcp

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

func TestContents(t *testing.T) {
	picture := func(kind string) []tools.Media { return []tools.Media{{Type: kind, Data: []byte(mcptest.Pixel)}} }
	large := []tools.Media{{Type: "image/gif", Data: []byte(mcptest.LargePixel)}}
	tests := []struct {
		kind string
		want answer
	}{
		{"lines", answer{out: "one\ntwo\nthree", Result: tools.Result{OK: true}}},
		{"nothing", answer{Result: tools.Result{OK: true}}},
		{"failure", answer{out: "no such file\nsecond line", Result: tools.Result{Error: "the tool reports an error"}}},
		{"short failure", answer{Result: tools.Result{Error: "the tool reports an error: no such file"}}},
		{"structured", answer{out: "{\n  \"id\": 12345678901234567890,\n  \"b\": [\n    1\n  ]\n}", Result: tools.Result{OK: true}}},
		{"twice", answer{out: `{"n":1,"a":[2]}`, Result: tools.Result{OK: true}}},
		{"same", answer{out: "a\nb", Result: tools.Result{OK: true}}},
		{"items", answer{out: "{\"a\":1}\ntwo", Result: tools.Result{OK: true}}},
		{"picture twice", answer{Result: tools.Result{OK: true, Media: picture("image/gif")}}},
		{"picture and more", answer{out: "seen\n{\n  \"image\": \"[media 1: image/gif, 814 bytes]\",\n  \"width\": 1\n}",
			Result: tools.Result{OK: true, Media: append(picture("image/gif"), large...)}}},
		{"base64", answer{out: "before [media 0: image/gif, 814 bytes] behind, and a word " + strings.Repeat("ACGT", 100), Result: tools.Result{OK: true, Media: large}}},
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

// TestSchemas: models see a schema as its server wrote it, and the server judges
// what it is called with.
func TestSchemas(t *testing.T) {
	r := newRig(t)
	s := r.start(r.server("digits", "digits"))
	tool := s.Tools()[0]
	if string(tool.Raw) != mcptest.DigitsSchema {
		t.Errorf("got %s", tool.Raw)
	}
	for _, args := range []string{`{"z":1}`, `{"a":"no z"}`, `{"type":"png","$ref":7}`} {
		if err := tool.Check([]byte(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	if got := call(t, s, "digits__say", `{"z":"7","text":"hi"}`); !got.OK || got.out != "said: hi" {
		t.Errorf("forwarded: %+v", got)
	}
	for _, raw := range []string{`{"type":"object","properties":{"a":{"$ref":"x:y/z"}}}`, `{"type":7}`, `[]`, `true`, `{}`} {
		if shown := (rawTool{InputSchema: []byte(raw)}).parameters(); (raw[0] == '{') != (string(shown) == raw) {
			t.Errorf("%s is shown as %s", raw, shown)
		}
	}
}

// TestChosen: the operator says which tools are on offer. All are accepted, so that
// a choice can change.
func TestChosen(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		include, exclude []string
		want, problem    string
	}{
		{want: "say=on show=on"},
		{include: []string{"say"}, want: "say=on"},
		{include: []string{"s*"}, exclude: []string{"?ay"}, want: "show=on"},
		{exclude: []string{"*"}},
		{include: []string{"show", "shout"}, want: "show=on", problem: `it has no tool "shout", which include in .mcp.json names`},
	} {
		entry := r.server("s", "good")
		entry.Include, entry.Exclude = tt.include, tt.exclude
		s := r.start(entry)
		if state(s) != tt.want || len(s.Tools()) != strings.Count(tt.want, "=on") || has(s.Problems(), tt.problem) != (tt.problem != "" || len(s.Problems()) == 0) {
			t.Errorf("%v %v: %s, %d tools, %q", tt.include, tt.exclude, state(s), len(s.Tools()), s.Problems())
		}
		s.Close()
	}
}

// TestStartTimeout: a server may have its own.
func TestStartTimeout(t *testing.T) {
	r := newRig(t)
	entry := r.server("s", "mute")
	entry.StartTimeout = 200 * time.Millisecond
	if s := r.start(entry); !has(s.Problems(), "no answer within 200ms") {
		t.Errorf("%q", s.Problems())
	}
}

// TestAddress: a message says where a server should be, without what is secret in it.
func TestAddress(t *testing.T) {
	r := newRig(t)
	port := mcptest.FreePort(t)
	s := r.start(Server{Name: "s", URL: "http://me:pass1234@127.0.0.1:" + port + "/mcp/s/hidden99?token=secret55"})
	if !has(s.Problems(), "http://127.0.0.1:"+port) || matches("pass1234|hidden99|secret55", strings.Join(s.Problems(), "\n")) {
		t.Errorf("%q", s.Problems())
	}
}

// A tool that runs only as a task is not offered, and one that may is.
func TestTasksOnly(t *testing.T) {
	r := newRig(t)
	s := r.start(r.server("s", "tasks"))
	if state(s) != "say=on show=on maybe=on" || len(s.Problems()) > 0 {
		t.Errorf("%s %q", state(s), s.Problems())
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
	if state(back) != "say=changed show=new" || fmt.Sprint(back.Unread()) != "[mcp s]" { // its names of tools are told
		t.Errorf("back: %s, unread %q", state(back), back.Unread())
	}
	if none := r.start(Server{Name: "none", Command: r.dir + "/none"}, Server{Name: "far", URL: "http://127.0.0.1:1"}); len(none.Problems()) != 2 || len(none.Unread()) > 0 {
		t.Errorf("what cannot be started, or reached, says nothing: %q", none.Unread())
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
