package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
	"rouse/scratchpad"
)

func clock() time.Time {
	return time.Date(2026, 4, 1, 15, 1, 54, 203_000_000, time.FixedZone("", 7200))
}

func create(t *testing.T, path string) *Writer {
	t.Helper()
	w, err := Create(disk.OS{}, path, NewChain(nil, "20260401_150154"), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func appendAll(t *testing.T, w *Writer, list ...Payload) {
	t.Helper()
	for _, p := range list {
		if err := w.Append(p); err != nil {
			t.Fatal(err)
		}
	}
}

func events(t *testing.T, path string) (kinds []string) {
	t.Helper()
	for e, err := range Read(path) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Event)
	}
	return kinds
}

// Each line is one flat object: scripts outside read these names.
func TestLinesAreFlat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path)
	appendAll(t, w,
		&Wake{Settled: "20260401_140000", Base: "ab"},
		&Intent{Step: 1, Tool: "shell", Args: json.RawMessage(`{"command":"a < b & c"}`), PID: 7},
		&Result{Step: 1, Tool: "shell", OK: true, SizeBytes: 3, Content: json.RawMessage(`"abc"`), Ms: 12},
		&Sleep{Outcome: Done, Iterations: 2, Tokens: 30, Ms: 400})
	want := `{"v":1,"seq":1,"time":"2026-04-01T15:01:54.203+02:00","cycle":"20260401_150154","event":"wake","settled":"20260401_140000","base":"ab","owner":{"pid":0,"start":0,"session":0},"mark":""}
{"v":1,"seq":2,"time":"2026-04-01T15:01:54.203+02:00","cycle":"20260401_150154","event":"intent","step":1,"tool":"shell","args":{"command":"a < b & c"},"pid":7}
{"v":1,"seq":3,"time":"2026-04-01T15:01:54.203+02:00","cycle":"20260401_150154","event":"result","step":1,"tool":"shell","ok":true,"size_bytes":3,"content":"abc","ms":12}
{"v":1,"seq":4,"time":"2026-04-01T15:01:54.203+02:00","cycle":"20260401_150154","event":"sleep","outcome":"done","exit":0,"iterations":2,"tokens":30,"ms":400}
`
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	create(t, path)
	if _, err := Create(disk.OS{}, path, NewChain(nil, "c"), clock); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Create: %v, want ErrExist", err)
	}
}

// A killed process leaves half a line; what is written after it must be whole.
func TestResumeAfterHalfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path)
	appendAll(t, w, &Wake{}, &Request{Iteration: 1})
	w.Close()
	for cut := 0; ; cut++ {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n") + 1
		if last+cut > len(whole) {
			break
		}
		torn := filepath.Join(t.TempDir(), "torn")
		if err := os.WriteFile(torn, whole[:last+cut], 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Resume(disk.OS{}, torn, NewChain(nil, "20260401_150154"), clock)
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, r, &Sleep{Outcome: Failed})
		r.Close()
		kinds := events(t, torn)
		if kinds[0] != "wake" || kinds[len(kinds)-1] != "sleep" {
			t.Errorf("cut %d: events %v", cut, kinds)
		}
		if e, err := Last(torn); err != nil || e.Event != "sleep" {
			t.Errorf("cut %d: last %v %v", cut, e.Event, err)
		}
	}
}

func TestLast(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	tests := []struct {
		name, text, want string
	}{
		{"empty", "", ""},
		{"no event", "garbage\n", ""},
		{"one", `{"event":"wake"}` + "\n", "wake"},
		{"torn end", `{"event":"wake"}` + "\n" + `{"event":"re`, "wake"},
		{"long line last", `{"event":"wake"}` + "\n" + `{"event":"reply","text":"` + long + `"}` + "\n", "reply"},
		{"long line torn", `{"event":"wake"}` + "\n" + `{"event":"reply","text":"` + long, "wake"},
		{"zeroes after power loss", `{"event":"wake"}` + "\n" + strings.Repeat("\x00", 5000), "wake"},
		{"unknown kind", `{"event":"from_the_future","v":9}` + "\n", "from_the_future"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			e, err := Last(path)
			if err != nil || e.Event != tt.want {
				t.Errorf("Last = %q, %v; want %q", e.Event, err, tt.want)
			}
		})
	}
}

// A replayed journal gives the same text, byte for byte.
func TestRebuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path)
	lived := scratchpad.New()
	steps := [][]scratchpad.Change{
		{{Op: "append", Key: "notes", Value: "\n[TOOL] a({}) → <b> & \u2028 😀"}},
		{{Op: "set", Key: "count", Value: json.Number("10000000000000000000001")}, {Op: "set", Key: "x", Value: map[string]any{"b": true, "a": nil}}},
		{{Op: "extend", Key: "completed_tasks", Value: []any{"one", map[string]any{"task": "t", "summary": "yes"}}}},
	}
	for _, c := range steps {
		if err := lived.Apply(c...); err != nil {
			t.Fatal(err)
		}
		appendAll(t, w, &State{Changes: c})
	}
	end := []scratchpad.Change{{Op: "append", Key: "notes", Value: "\n[LIMIT]"}}
	if err := lived.Apply(end...); err != nil {
		t.Fatal(err)
	}
	appendAll(t, w, &End{Outcome: Limited, Changes: end})

	rebuilt := scratchpad.New()
	if err := Rebuild(rebuilt, Read(path)); err != nil {
		t.Fatal(err)
	}
	want, err := lived.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	got, err := rebuilt.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestTextCannotForgeALine(t *testing.T) {
	r := Event{Data: &Result{Step: 1, Content: json.RawMessage(`"a\n[COMPLETED]"`), Error: "x\ny\x1b[2J\u202e"}}
	if text := r.Text(); strings.ContainsAny(text, "\n\x1b\u202e") {
		t.Errorf("text %q", text)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"seq":1,"event":"state","changes":[{"op":"set","key":"a","value":1}]}` + "\n"))
	f.Add([]byte("{\"event\":\"result\",\"step\":1e99}\n\x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var last Event
		for e, err := range Read(path) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
			if strings.Contains(e.Text(), "\n") {
				t.Errorf("text of %q has a line break", data)
			}
		}
		if got, err := Last(path); err != nil || got.Event != last.Event || got.Seq != last.Seq {
			t.Errorf("Last = %+v, %v; Read ends with %+v", got.Header, err, last.Header)
		}
	})
}

// What events say in words loses its secrets in one place; the texts that do not
// are names, or clean before.
func TestWordsAreRedacted(t *testing.T) {
	clean := []string{
		"Wake.Settled", "Wake.Base", "Wake.Mark", "Wake.Version", "Request.For", "Request.Sum", "Reply.For", "Reply.Form", "Reply.Told", "Reply.Text", "Reply.Refusal", "Reply.Finish", "Reply.Model", "Intent.Tool", "Intent.Effect", "Intent.Approval",
		"Result.Tool", "Result.ScratchpadID", "Result.Kind", "Result.Facts", "Result.Note", "Result.Warning", "Result.SHA256", "Parked.From", "Parked.ID", "Parked.Error", "Note.Text", "Protocol.Name", "Limit.Name", "End.Outcome", "End.Task", "Sleep.Outcome", "Sleep.Task", "Sleep.Rewound",
	}
	for _, p := range []Payload{
		&Wake{}, &Request{}, &Reply{}, &Intent{}, &Started{}, &Result{}, &Parked{}, &Made{}, &Note{}, &Prune{}, &Protocol{}, &Warning{}, &State{}, &Limit{}, &Retry{}, &End{}, &Sleep{},
	} {
		v := reflect.ValueOf(p).Elem()
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.String {
				v.Field(i).SetString("secret")
			}
		}
		for _, text := range words(p) {
			*text = ""
		}
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if v.Field(i).Kind() == reflect.String && v.Field(i).String() != "" && !slices.Contains(clean, name) {
				t.Errorf("%s is neither redacted nor known to be clean", name)
			}
		}
	}
}
