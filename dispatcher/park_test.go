package dispatcher

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// withStore gives the dispatcher a store of its own and a tool that says much.
func withStore(t testing.TB, say func(c tools.Call) tools.Result) (*Dispatcher, *record) {
	t.Helper()
	d, r := newDispatcher(t, "")
	type none struct{}
	set, err := tools.NewSet(tools.New("much", "Says much.", func(_ context.Context, c tools.Call, _ none) tools.Result { return say(c) }), tools.Echo())
	if err != nil {
		t.Fatal(err)
	}
	store, err := observation.Open(t.TempDir(), observation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	turn, err := store.Begin("20260401_150154", proc.Self())
	if err != nil {
		t.Fatal(err)
	}
	d.Tools, d.Turn = set, func() (*observation.Turn, error) { return turn, nil }
	return d, r
}

func saying(text string) func(tools.Call) tools.Result {
	return func(c tools.Call) tools.Result {
		for len(text) > 1000 { // in pieces, as a program does
			c.Output.Write([]byte(text[:1000]))
			text = text[1000:]
		}
		c.Output.Write([]byte(text))
		return tools.Result{OK: true, Metadata: map[string]any{"exit_code": 0}}
	}
}

// The form of a synthetic observation is stable: scripts and prompts rely on it.
func TestSyntheticObservation(t *testing.T) {
	text := strings.Repeat("a", 40_000) + secret + strings.Repeat("é", 24_000)
	d, r := withStore(t, saying(text))
	if n := len(d.Offered()); n != 4 {
		t.Errorf("%d tools before anything is parked", n)
	}
	o := do(t, d, "much", `{}`)
	var got map[string]any
	b, err := json.Marshal(o)
	if err != nil || json.Unmarshal(b, &got) != nil {
		t.Fatal(err)
	}
	clean := strings.Replace(text, secret, "[REDACTED:PASS]", 1)
	want := strings.Repeat("a", 500) + fmt.Sprintf("\n[... %d characters omitted ...]\n", len([]rune(clean))-1000) + strings.Repeat("é", 500)
	if got["summary"] != want || got["size_bytes"] != float64(len(clean)) || got["kind"] != "text" || got["step"] != 1.0 || got["ok"] != true ||
		got["_note"] != "Large observation saved in the scratchpad. To read it in full or in part, use scratchpad_read." || len(o.ScratchpadID) != 16 {
		t.Errorf("%.3000s", b)
	}
	if _, ok := got["content"]; ok || got["metadata"].(map[string]any)["exit_code"] != 0.0 {
		t.Errorf("content %v, metadata %v", ok, got["metadata"])
	}
	if names := d.Names(); names[len(names)-2] != "scratchpad_read" || names[len(names)-1] != "scratchpad_keep" {
		t.Errorf("tools %v", names)
	}
	for _, p := range r.events {
		if res, ok := p.(*journal.Result); ok && (res.ScratchpadID != o.ScratchpadID || res.SizeBytes != int64(len(clean))) {
			t.Errorf("journalled %+v", res)
		}
	}
	all := do(t, d, "scratchpad_read", fmt.Sprintf(`{"scratchpad_id":%q,"mode":"range","start":39990,"end":40020}`, o.ScratchpadID))
	if all.Content != string([]rune(clean)[39990:40020]) {
		t.Errorf("range %q", all.Content)
	}
}

// The threshold counts the whole observation; what is below it is shown as it is.
func TestThreshold(t *testing.T) {
	for _, tt := range []struct {
		size   int
		parked bool
	}{{3000, false}, {4096, true}, {4040, true}, {100_000, true}} {
		d, _ := withStore(t, saying(strings.Repeat("x", tt.size)))
		if o := do(t, d, "much", `{}`); (o.ScratchpadID != "") != tt.parked {
			t.Errorf("%d bytes: %+v", tt.size, o.ScratchpadID)
		}
	}
}

// An operator may want to see more at a time, or less.
func TestOtherThresholds(t *testing.T) {
	for _, tt := range []struct {
		threshold, size int
		parked          bool
	}{{256, 100, false}, {256, 300, true}, {1 << 20, 900_000, false}, {1 << 20, 1 << 20, true}, {1 << 30, 3 << 20, false}} {
		text := strings.Repeat("x", tt.size-1) + "é"
		d, _ := withStore(t, saying(text))
		d.Threshold = tt.threshold
		o := do(t, d, "much", `{}`)
		if (o.ScratchpadID != "") != tt.parked || !tt.parked && o.Content != any(text) {
			t.Errorf("%d bytes at %d: parked %q", tt.size, tt.threshold, o.ScratchpadID)
		}
	}
}

func TestLargeMetadataIsParked(t *testing.T) {
	d, _ := withStore(t, func(c tools.Call) tools.Result {
		return tools.Result{OK: true, Content: "small", Metadata: map[string]any{"status": 200, "headers": strings.Repeat("h", 5000)}}
	})
	if o := do(t, d, "much", `{}`); o.ScratchpadID == "" || len(o.Metadata) != 1 || o.Metadata["status"] != 200 || o.Summary != "small" {
		t.Errorf("%+v", o)
	}
	if o := do(t, d, "echo", `{"message":"{{step1.metadata.status}} {{step1.metadata.headers}}"}`); o.SizeBytes != int64(len("ECHO: 200 ")+5000) {
		t.Errorf("%+v", o)
	}
}

// What is no text is kept whatever its size: what is shown of it is not it.
func TestSmallBinaryIsParked(t *testing.T) {
	for _, data := range []string{"\x89PNG\r\n\x1a\n\x00", "caf\xe9\n", "cut in a ch\xc3"} {
		d, _ := withStore(t, saying(data))
		o := do(t, d, "much", `{}`)
		if o.Kind != "binary" || !strings.HasPrefix(o.Summary, "[BINARY: ") || o.SizeBytes != int64(len(data)) {
			t.Errorf("%q: %+v", data, o)
		}
		found, err := d.lookup(1, []string{"content"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := found.open()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != data || err != nil {
			t.Errorf("%q came back as %q: %v", data, got, err)
		}
		r.Close()
		if o := do(t, d, "echo", `{"message":"<{{step1.content}}>"}`); !strings.Contains(o.Error, "binary content") {
			t.Errorf("%q as an argument: %+v", data, o)
		}
	}
}

// The arguments of a call, which the model wrote, do not make its result large.
func TestLargeArgumentsAreNotParked(t *testing.T) {
	d, _ := withStore(t, nil)
	d.Tools, _ = tools.NewSet(tools.New("take", "Takes.", func(context.Context, tools.Call, struct {
		Text string `json:"text"`
	}) tools.Result {
		return tools.Result{OK: true, Content: "taken"}
	}))
	if o := do(t, d, "take", `{"text":"`+strings.Repeat("x", 9000)+`"}`); o.Content != "taken" || o.ScratchpadID != "" {
		t.Errorf("%+v", o)
	}
}

// A store that cannot be used costs the middle of what is large, not the cycle.
func TestStoreThatCannotBeUsed(t *testing.T) {
	d, _ := withStore(t, saying(strings.Repeat("x", 50_000)))
	d.Turn = func() (*observation.Turn, error) { return nil, errors.New("the database is locked") }
	o := do(t, d, "much", `{}`)
	if !o.OK || o.ScratchpadID != "" || !strings.Contains(o.text(), "characters omitted") || !strings.Contains(o.Note, "the database is locked") {
		t.Errorf("%.300s, note %q", o.text(), o.Note)
	}
	if o := do(t, d, "echo", `{"message":"{{step1.content}}"}`); !strings.Contains(o.Error, "only a part of the content of step 1") {
		t.Errorf("a part was passed on: %+v", o)
	}
	if o := do(t, d, "echo", `{"message":"{{step1.metadata.exit_code}}"}`); o.OK {
		t.Errorf("a number for a text: %+v", o)
	}
	if o := do(t, d, "echo", `{"message":"code {{step1.metadata.exit_code}}"}`); o.Content != "ECHO: code 0" {
		t.Errorf("%+v", o)
	}
}

func TestReadModes(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&b, "line %d é\n", i)
	}
	text := b.String()
	runes := []rune(text)
	d, _ := withStore(t, saying(text))
	id := do(t, d, "much", `{}`).ScratchpadID
	tests := []struct{ args, want, err string }{
		{`{}`, string(runes[:2000]), ""},
		{`{"mode":"head","n":5}`, "line ", ""},
		{`{"mode":"tail","n":8}`, " 2000 é\n", ""},
		{`{"mode":"range","start":3,"end":8}`, string(runes[3:8]), ""},
		{`{"mode":"range","start":999999}`, "", ""},
		{`{"mode":"lines","start":7,"end":9}`, "line 7 é\nline 8 é\n", ""},
		{`{"mode":"grep","pattern":"line 1999"}`, "1999:line 1999 é\n", ""},
		{`{"mode":"grep","pattern":"LINE 77 ","ignore_case":true,"context":1}`, "76-line 76 é\n77:line 77 é\n78-line 78 é\n", ""},
		{`{"mode":"grep","pattern":"no such"}`, "", ""},
		{`{"mode":"grep"}`, "", "needs a pattern"},
		{`{"mode":"grep","pattern":"("}`, "", "missing"},
		{`{"mode":"full"}`, "", "use grep to find"},
		{`{"mode":"json","query":"."}`, "", "query observation"},
		{`{"mode":"json"}`, "", "needs a query"},
		{`{"mode":"upside"}`, "", "use head, tail"},
	}
	for _, tt := range tests {
		args := strings.Replace(tt.args, "{", fmt.Sprintf(`{"scratchpad_id":%q,`, id), 1)
		args = strings.Replace(args, ",}", "}", 1)
		o := do(t, d, "scratchpad_read", args)
		if o.OK != (tt.err == "") || o.text() != tt.want || !strings.Contains(o.Error, tt.err) {
			t.Errorf("%s: ok %v, %.80q, error %q", tt.args, o.OK, o.text(), o.Error)
		}
	}
	for _, wrong := range []string{"0000000000000000", "", "x", "../../etc/passwd", strings.Repeat("f", 1000)} {
		if o := do(t, d, "scratchpad_read", fmt.Sprintf(`{"scratchpad_id":%q}`, wrong)); o.Error != "no such observation" {
			t.Errorf("%.20q: %q", wrong, o.Error)
		}
	}
}

// Reading again and again is no loop, and an answer is never parked itself.
func TestReadIsExempt(t *testing.T) {
	d, _ := withStore(t, saying(strings.Repeat("x", 100_000)))
	id := do(t, d, "much", `{}`).ScratchpadID
	for range 7 {
		o := do(t, d, "scratchpad_read", fmt.Sprintf(`{"scratchpad_id":%q,"n":100000}`, id))
		if o.ScratchpadID != "" || o.Warning != "" || len(o.text()) != maxAnswer || o.Metadata["next"] == nil {
			t.Fatalf("%d bytes, %+v", len(o.text()), o.Metadata)
		}
	}
}

func TestBinaryIsReadEncoded(t *testing.T) {
	data := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00\xff", 5000)
	d, _ := withStore(t, saying(data))
	o := do(t, d, "much", `{}`)
	if o.Kind != "binary" || !strings.HasPrefix(o.Summary, "[BINARY: 10008 bytes, sha256=") || !strings.HasSuffix(o.Summary, ", image/png]") {
		t.Errorf("%+v", o)
	}
	part := do(t, d, "scratchpad_read", fmt.Sprintf(`{"scratchpad_id":%q,"mode":"range","start":0,"end":8}`, o.ScratchpadID))
	if part.Content != base64.StdEncoding.EncodeToString([]byte(data[:8])) {
		t.Errorf("%v", part.Content)
	}
}

// A log with a few bytes that are no text is binary, and is searched and read by
// lines all the same.
func TestLogWithABadByte(t *testing.T) {
	d, _ := withStore(t, saying(strings.Repeat("INFO a line\n", 1000)+"ERROR caf\xe9 closed\n"+strings.Repeat("INFO a line\n", 1000)))
	o := do(t, d, "much", `{}`)
	if o.Kind != "binary" || o.Facts != "2001 lines; some bytes are not text, and grep and lines show the rest" {
		t.Errorf("%s, %q", o.Kind, o.Facts)
	}
	for args, want := range map[string]string{
		`"mode":"grep","pattern":"ERROR"`: "1001:ERROR caf\ufffd closed\n", `"mode":"lines","start":1001,"end":1002`: "ERROR caf\ufffd closed\n",
	} {
		if got := do(t, d, "scratchpad_read", fmt.Sprintf(`{"scratchpad_id":%q,%s}`, o.ScratchpadID, args)); got.Content != want {
			t.Errorf("%s: %q, %s", args, got.Content, got.Error)
		}
	}
}

// A reference looks into what is parked, and into what is not.
func TestReferencesToSteps(t *testing.T) {
	d, _ := withStore(t, saying(`{"items":[`+strings.TrimSuffix(strings.Repeat(`{"id":12345678901234567890},`, 1000), ",")+`]}`))
	do(t, d, "much", `{}`)
	if o := do(t, d, "echo", `{"message":"<{{step1.content.items.999.id}}>"}`); o.Content != "ECHO: <12345678901234567890>" {
		t.Errorf("%+v", o)
	}
	if o := do(t, d, "echo", `{"message":"<{{step2.content}}>"}`); o.Content != "ECHO: <ECHO: <12345678901234567890>>" {
		t.Errorf("%+v", o)
	}
	for _, ref := range []string{"step1.content.items.1000", "step2.content.x", "step99.content", "step1.nothing"} {
		if o := do(t, d, "echo", `{"message":"{{`+ref+`}}"}`); o.OK || !strings.HasPrefix(o.Error, "arguments: {{"+ref) {
			t.Errorf("%s: %+v", ref, o)
		}
	}
}

func TestKeep(t *testing.T) {
	d, _ := withStore(t, saying(strings.Repeat("x", 10_000)))
	id := do(t, d, "much", `{}`).ScratchpadID
	if o := do(t, d, "scratchpad_keep", fmt.Sprintf(`{"scratchpad_id":%q,"label":"the list"}`, id)); !o.OK {
		t.Error(o.Error)
	}
	for args, want := range map[string]string{`"label":"x","ttl":"1y"`: "write a length of time", `"label":" "`: "label"} {
		if o := do(t, d, "scratchpad_keep", fmt.Sprintf(`{"scratchpad_id":%q,%s}`, id, args)); o.OK || !strings.Contains(o.Error, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
