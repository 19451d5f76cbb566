package notebook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/tools"
)

// fake is a runtime whose cells are words: they print, fail or show what they say.
type fake struct {
	reset, removed int
	closed         atomic.Int32
	canceled       bool
	wakes          chan struct{} // told of each cancel
}

func (f *fake) Start(context.Context) error { return nil }
func (f *fake) Execute(_ context.Context, j Job, emit func(Event)) (Outcome, error) {
	word, rest, _ := strings.Cut(j.Code, " ")
	switch word {
	case "print":
		for _, c := range []byte(rest) { // in the smallest pieces
			emit(Event{Stdout, []byte{c}})
		}
	case "wait":
		emit(Event{Log, []byte("waiting\n")})
		<-f.wakes
		return Outcome{Ended: Canceled}, nil
	case "warn":
		emit(Event{Stderr, []byte(rest)})
	case "log":
		emit(Event{Log, []byte(rest + "\n")})
	case "fail":
		return Outcome{Ended: Failed, Error: "Traceback\nFile\n" + rest}, nil
	case "broken":
		return Outcome{}, errors.New(rest)
	case "draw":
		return Outcome{Ended: OK, Value: rest, Media: []tools.Media{{Type: "image/png", Data: []byte("png")}}, Notes: []string{"state lost"}}, nil
	default:
		return Outcome{Ended: OK, Value: j.Code, Duration: time.Second}, nil
	}
	return Outcome{Ended: OK}, nil
}
func (f *fake) Install(_ context.Context, p []string, w io.Writer) error {
	io.WriteString(w, strings.Join(p, "\n"))
	return nil
}
func (f *fake) Cancel() {
	f.canceled = true
	if f.wakes != nil {
		f.wakes <- struct{}{}
	}
}
func (f *fake) Reset(context.Context) error  { f.reset++; return nil }
func (f *fake) Close(context.Context) error  { f.closed.Add(1); return nil }
func (f *fake) Remove(context.Context) error { f.removed++; return nil }

func manager(t *testing.T, dir string) (*Manager, *fake) {
	f := &fake{}
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	m := &Manager{Dir: dir, FS: disk.OS{}, Open: func(string, string) (Runtime, error) { return f, nil }, Now: func() time.Time { return now }}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m, f
}

func call(t *testing.T, m *Manager, args string) (tools.Result, string) {
	t.Helper()
	var out bytes.Buffer
	tool := Tool(m, []string{"pandas 2"})
	if err := tool.Check(json.RawMessage(args)); err != nil {
		t.Fatal(err)
	}
	r := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(args), Output: &out})
	return r, out.String()
}

// TestTool: each action gives a result that a model can read.
func TestTool(t *testing.T) {
	m, f := manager(t, t.TempDir())
	for _, row := range []struct {
		args string
		ok   bool
		out  string // or the error, or the content
	}{
		{`{"action":"exec","name":"a","code":"1+1"}`, true, "1+1"},
		{`{"action":"exec","name":"a","code":"print hi"}`, true, "hi"},
		{`{"action":"exec","name":"a","code":"warn no"}`, true, "[stderr]\nno\n"},
		{`{"action":"exec","name":"a","code":"draw x"}`, true, "[value]\nx\n[notes]\nstate lost\n"},
		{`{"action":"exec","name":"a","code":"fail E: b"}`, false, "E: b"},
		{`{"action":"exec","name":"a","code":"broken c"}`, false, "notebook a: c"},
		{`{"action":"exec","name":"a","code":" "}`, false, "code is empty"},
		{`{"action":"install","name":"a","packages":["x","y"]}`, true, "x\ny"},
		{`{"action":"reset","name":"a"}`, true, "The notebook starts afresh; its packages and its cells are kept."},
		{`{"action":"reset","name":"none"}`, false, `there is no notebook "none"; there are: a`},
		{`{"action":"exec","name":"../x","code":"1"}`, false, `notebook name "../x": use 1 to 64 of a-z, 0-9, _ and -, a letter or digit first`},
		{`{"action":"remove","name":"a"}`, true, "The notebook is deleted."},
		{`{"action":"view","name":"a"}`, false, `there is no notebook "a"; there are: none`},
	} {
		r, out := call(t, m, row.args)
		if !r.OK {
			out = r.Error
		} else if s, ok := r.Content.(string); ok {
			out = s
		}
		if r.OK != row.ok || out != row.out {
			t.Errorf("%s: ok %v, %q", row.args, r.OK, out)
		}
	}
	if f.reset != 1 || f.removed != 1 {
		t.Errorf("reset %d, removed %d", f.reset, f.removed)
	}
	if tool := Tool(m, []string{"pandas 2"}); !strings.HasSuffix(tool.Description, "- Already there: pandas 2.") {
		t.Error("the description names no libraries")
	}
	m.Variables = []string{"DS_PG__HOST", "DS_PG__PASSWORD"}
	if tool := Tool(m, nil); !strings.HasSuffix(tool.Description, "never print their values: DS_PG__HOST, DS_PG__PASSWORD.") {
		t.Errorf("description %q", tool.Description)
	}
}

// TestNames: a name is that of a folder below ours, and of no other.
func TestNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/a", "A", "a b", "-a", ".a", "a\x00", "a\n", "ä", strings.Repeat("a", 65), "con.", "a\\b"} {
		if CheckName(name) == nil {
			t.Errorf("%q is allowed", name)
		}
	}
	dir := t.TempDir()
	m, _ := manager(t, dir)
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Exec(t.Context(), "link", Request{Code: "1"}); err == nil {
		t.Error("a link passed for a notebook")
	}
}

// TestFailing: three failing cells in a row are told, five end the use. Those that
// are no Python are not among them.
func TestFailing(t *testing.T) {
	m, _ := manager(t, t.TempDir())
	run := func(code string) (Cell, error) { return m.Exec(t.Context(), "a", Request{Code: code}) }
	for range 2 {
		run("fail E: x")
	}
	if c, _ := run("ok"); len(c.Notes) > 0 {
		t.Error("told although a cell went well")
	}
	for range 6 {
		if c, err := run("fail SyntaxError: %sql is no magic"); err != nil || len(c.Notes) > 0 {
			t.Errorf("no Python: notes %q, %v", c.Notes, err)
		}
	}
	for i := range 5 {
		c, err := run("fail E: x" + string(rune('a'+i)))
		if err != nil || (len(c.Notes) > 0) != (i >= 2) || i >= 2 && !strings.Contains(c.Notes[0], "E: xa\n") {
			t.Errorf("failure %d: notes %q, %v", i+1, c.Notes, err)
		}
	}
	if _, err := run("ok"); err == nil || !strings.Contains(err.Error(), "runs no more in this cycle") {
		t.Errorf("after five: %v", err)
	}
	if _, err := m.Exec(t.Context(), "b", Request{Code: "ok"}); err != nil {
		t.Errorf("another notebook: %v", err)
	}
}

// TestOutputNotTaken: a cell that ran is kept, though nobody took what it printed.
func TestOutputNotTaken(t *testing.T) {
	m, _ := manager(t, t.TempDir())
	r, w := io.Pipe()
	r.Close()
	c, err := m.Exec(t.Context(), "a", Request{Code: "print words", Output: w})
	if !errors.Is(err, io.ErrClosedPipe) || c.Number != 1 {
		t.Errorf("cell %d: %v", c.Number, err)
	}
	var view bytes.Buffer
	if err := m.View("a", &view); err != nil || !strings.Contains(view.String(), "--- stdout\nwords\n") {
		t.Errorf("%s, %v", view.String(), err)
	}
	if c, err := m.Exec(t.Context(), "a", Request{Code: "ok"}); err != nil || c.Number != 2 {
		t.Errorf("then cell %d: %v", c.Number, err)
	}
}

// TestRedacted: no secret is kept, shown or told, however it comes out.
func TestRedacted(t *testing.T) {
	dir, canary := t.TempDir(), "canary-"+strings.Repeat("x7", 9)
	m, _ := manager(t, dir)
	m.Redact = redact.New(map[string]string{"DB": canary})
	var told []string
	m.Before = func(_ context.Context, _ string, c Cell) error { told = append(told, c.Code); return nil }
	m.After = func(_ context.Context, _ string, c Cell) error {
		b, _ := json.Marshal(c)
		told = append(told, string(b))
		return nil
	}
	for _, verb := range []string{"print ", "warn ", "log ", "fail ", "draw ", "broken ", ""} {
		var out bytes.Buffer
		c, err := m.Exec(t.Context(), "a", Request{Code: verb + canary, Description: canary, Output: &out, Progress: func(l string) { told = append(told, l) }})
		b, _ := json.Marshal(c)
		told = append(told, out.String(), string(b))
		if err != nil {
			told = append(told, err.Error())
		}
	}
	var log bytes.Buffer
	m.Install(t.Context(), "a", []string{canary}, &log)
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		b, _ := os.ReadFile(path)
		told = append(told, string(b))
		return nil
	})
	all := strings.Join(append(told, log.String()), "\n")
	if strings.Contains(all, canary) || strings.Count(all, "[REDACTED:DB]") < 20 {
		t.Errorf("hits in:\n%.3000s", all)
	}
}

// TestLocked: a notebook is used by one manager at a time.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	a, f := manager(t, dir)
	b, _ := manager(t, dir)
	if _, err := a.Exec(t.Context(), "n", Request{Code: "1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(t.Context(), "n", Request{Code: "1"}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("second user: %v", err)
	}
	a.Cancel()
	if err := a.Close(t.Context()); err != nil || f.closed.Load() != 1 || !f.canceled {
		t.Errorf("closed %d, canceled %v: %v", f.closed.Load(), f.canceled, err)
	}
	c, err := b.Exec(t.Context(), "n", Request{Code: "1"})
	if err != nil || c.Number != 2 {
		t.Errorf("then cell %d: %v", c.Number, err)
	}
}

// TestCancelCell: what runs is canceled, also from another process; what does not
// run is said.
func TestCancelCell(t *testing.T) {
	dir := t.TempDir()
	owner, f := manager(t, dir)
	other, _ := manager(t, dir)
	f.wakes = make(chan struct{}, 1)
	if err := other.CancelCell(t.Context(), "n"); err == nil || !strings.Contains(err.Error(), `no notebook "n"`) {
		t.Errorf("of none: %v", err)
	}
	for _, by := range []*Manager{owner, other} {
		waits, ended := make(chan struct{}), make(chan Cell)
		go func() {
			c, _ := owner.Exec(t.Context(), "n", Request{Code: "wait", Progress: func(string) { close(waits) }})
			ended <- c
		}()
		<-waits
		if err := by.CancelCell(t.Context(), "n"); err != nil {
			t.Error(err)
		}
		if c := <-ended; c.Ended != Canceled {
			t.Errorf("ended %q", c.Ended)
		}
	}
	if err := owner.CancelCell(t.Context(), "n"); err == nil || !strings.Contains(err.Error(), "no cell runs") {
		t.Errorf("while idle: %v", err)
	}
	owner.Close(t.Context())
	if err := other.CancelCell(t.Context(), "n"); err == nil || !strings.Contains(err.Error(), "no cell runs") {
		t.Errorf("while closed: %v", err)
	}
}

// TestRemovedThenForgotten: nobody can open a notebook anew while its folder is
// being removed.
func TestRemovedThenForgotten(t *testing.T) {
	dir := t.TempDir()
	m, _ := manager(t, dir)
	if _, err := m.Exec(t.Context(), "a", Request{Code: "ok"}); err != nil {
		t.Fatal(err)
	}
	for n := range 300 { // makes the removal long
		if err := os.WriteFile(filepath.Join(dir, "a", fmt.Sprint(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed := make(chan error)
	go func() { removed <- m.Remove(t.Context(), "a") }()
	for open := true; open; {
		m.mu.Lock()
		open = m.open["a"] != nil
		m.mu.Unlock()
	}
	if _, err := os.Lstat(filepath.Join(dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("forgotten, and its folder is still there: %v", err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
}

// TestTorn: a line that a killed process left does not spoil others.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	s := Store{Dir: dir, FS: disk.OS{}}
	if err := s.Append(Cell{Number: 1, Code: "a"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, cellsName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"number":2,"code":"half`)
	f.Close()
	if err := s.Append(Cell{Number: 2, Code: "b"}); err != nil {
		t.Fatal(err)
	}
	var codes []string
	s.Each(func(c Cell) error { codes = append(codes, c.Code); return nil })
	if diff := cmp.Diff([]string{"a", "b"}, codes); diff != "" {
		t.Error(diff)
	}
}

// TestKept: the beginning and the end are kept, and the true size.
func TestKept(t *testing.T) {
	for _, size := range []int{0, 10, keepHead, keepHead + 1, keepHead + keepTail, keepHead + keepTail + 1, 5 << 20} {
		c := text.Ends{Head: keepHead, Tail: keepTail}
		all := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		for rest := all; rest != ""; {
			n := min(len(rest), 70001)
			c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		got := kept(&c)
		if c.Total != int64(size) || size <= keepHead+keepTail && got != all {
			t.Errorf("%d: total %d, length %d", size, c.Total, len(got))
		}
		if size > keepHead+keepTail && (!strings.HasPrefix(got, all[:keepHead]+"\n[") || !strings.HasSuffix(got, "left out]\n"+all[size-keepTail:])) {
			t.Errorf("%d: beginning or end is wrong", size)
		}
	}
}

func filled(t *testing.T) Store {
	s := Store{Dir: t.TempDir(), FS: disk.OS{}}
	for i, c := range []Cell{
		{Code: "x = 1\nx", Value: "1", Ended: OK},
		{Code: "load()", Description: "Load the data", Ended: TimedOut, Error: "Cell timed out after 20 s\nTraceback", Stdout: "half\n"},
		{Code: "print('```')", Description: "Show", Ended: OK, Stdout: "```\n" + strings.Repeat("line\n", 30), Stderr: "warned", Logs: []string{"at 5"}, Notes: []string{"state lost"},
			Pictures: []tools.Media{{Type: "image/png", Data: []byte("png")}}},
		{Code: "f()", Ended: Failed, Error: "Traceback (most recent call last):\nValueError: é " + strings.Repeat("y", 3000), Duration: 1500},
	} {
		c.Number, c.ID, c.Time = i+1, "id-"+string(rune('a'+i)), time.Date(2026, 4, 1, 12, i, 0, 0, time.UTC)
		if err := s.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestView: cut for reading, older cells folded.
func TestView(t *testing.T) {
	s := filled(t)
	var view, dump bytes.Buffer
	if err := errors.Join(s.View(&view, 2), s.Dump(&dump, 2)); err != nil {
		t.Fatal(err)
	}
	want := "- [1] x = 1\n- [2] Load the data → Cell timed out after 20 s\n\n=== [3] 2026-04-01 12:02:00, ok in 0s: Show\nprint('```')\n" +
		"--- notes\nstate lost\n--- logs\nat 5\n--- stdout\n```\n" + strings.Repeat("line\n", 9) + "… 11 lines left out\n" + strings.Repeat("line\n", 10) +
		"--- stderr\nwarned\n--- pictures\n[image/png, 3 bytes]\n\n=== [4] 2026-04-01 12:03:00, error in 1.5s\nf()\n--- error\nTraceback (most recent call last):\nValueError: é "
	if diff := cmp.Diff(want, view.String()[:len(want)]); diff != "" {
		t.Error(diff)
	}
	if view.Len() > 3500 || !strings.Contains(view.String(), "characters left out") {
		t.Errorf("%d bytes", view.Len())
	}
	if d := dump.String(); !strings.Contains(d, "## Show\n\n````python\nprint('```')\n````\n\n````\n```\nline\n") || strings.Contains(d, "state lost") {
		t.Errorf("dump:\n%s", d)
	}
}

// TestIpynb: what we write is what Jupyter reads, also by its own judgement
// where that is installed.
func TestIpynb(t *testing.T) {
	s := filled(t)
	if err := s.WriteIpynb(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(s.Dir, ipynbName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Nbformat, Nbformat_minor int
		Cells                    []struct {
			ID      string
			Outputs []map[string]any
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil || doc.Nbformat != 4 || doc.Nbformat_minor != 5 || len(doc.Cells) != 4 || len(doc.Cells[2].Outputs) != 3 {
		t.Fatalf("%v: %+v", err, doc)
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import nbformat").Run() == nil {
			out, err := exec.Command(python, "-c", "import nbformat, sys; nbformat.validate(nbformat.read(sys.argv[1], 4))", name).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("nbformat: %v\n%s", err, out)
			}
			return
		}
	}
	t.Log("not validated: nbformat is not installed")
}

// TestTotal: twice the estimate, within bounds.
func TestTotal(t *testing.T) {
	for _, row := range []struct{ estimate, want time.Duration }{
		{0, 2 * time.Minute}, {time.Second, 10 * time.Second}, {5 * time.Second, 10 * time.Second}, {6 * time.Second, 12 * time.Second},
		{20 * time.Minute, 40 * time.Minute}, {31 * time.Minute, time.Hour}, {1 << 62, time.Hour}, {-1, 2 * time.Minute},
	} {
		if got := (Limits{}).Total(row.estimate); got != row.want {
			t.Errorf("%v: %v, want %v", row.estimate, got, row.want)
		}
	}
	if got := (Limits{Max: time.Minute}).Total(0); got != time.Minute {
		t.Errorf("capped: %v", got)
	}
}
