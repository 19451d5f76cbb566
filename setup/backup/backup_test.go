package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rouse/agent"
	"rouse/agent/history"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

func TestMain(m *testing.M) { disktest.Main(m) }

// script is a model that answers with these actions, and then says done.
type script []string

func (m *script) Reply(context.Context, model.Request) (model.Reply, error) {
	text := `{"tool":"done","args":{"summary":"seen"}}`
	if len(*m) > 0 {
		text, *m = (*m)[0], (*m)[1:]
	}
	var a struct {
		Tool string
		Args json.RawMessage
	}
	err := json.Unmarshal([]byte(text), &a)
	return model.Reply{Finish: "stop", Calls: []model.Call{{ID: "call", Name: a.Tool, Args: a.Args}}}, err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var clock = time.Date(2026, 4, 1, 15, 1, 54, 0, time.Local)

// newHome makes a home with an agent whose tool write_file writes into the workspace.
func newHome(t testing.TB, dir string, replies ...string) (home.Home, *agent.Agent) {
	t.Helper()
	h := home.Home{Dir: dir}
	workspace := filepath.Join(dir, "workspace")
	must(t, os.MkdirAll(workspace, 0o700))
	must(t, os.MkdirAll(h.Memory(), 0o700))
	if !disk.Exists(h.Rules()) {
		must(t, os.WriteFile(h.Rules(), []byte("Be brief.\n"), 0o640))
		must(t, os.WriteFile(h.Active(), []byte("goals: [see the house] # always\ncurrent_task: look\n"), 0o600))
	}
	type args struct {
		Text string `json:"text"`
	}
	set, err := tools.NewSet(tools.New("write_file", "Writes.", func(_ context.Context, _ tools.Call, a args) tools.Result {
		must(t, os.WriteFile(filepath.Join(workspace, "file"), []byte(a.Text), 0o600))
		return tools.Result{OK: true, Content: strings.Repeat("written ", 2000)}
	}))
	must(t, err)
	m := script(replies)
	return h, &agent.Agent{
		Keeper: agent.Keeper{Home: h, Mark: "mark", Now: func() time.Time { return clock }, Workspace: workspace,
			History: &history.Store{Dir: h.History(), Of: "workspace", MaxFile: 1 << 20, MaxBytes: 1 << 20}},
		Asking: agent.Asking{Model: &m, MaxIterations: 20, Timeout: time.Minute}, Tools: set,
	}
}

// A backup is taken at every moment of a cycle: each makes a home in which the next wake
// goes well, with the memory that was saved, or all that the cycle had noted.
func TestBesideACycle(t *testing.T) {
	dir := t.TempDir()
	h, a := newHome(t, filepath.Join(dir, "home"), `{"tool":"write_file","args":{"text":"one"}}`, `{"tool":"update_scratchpad","args":{"fact":42}}`, `{"tool":"write_file","args":{"text":"two"}}`)
	n, step := 0, sweep.Of(3, 1, 1)
	type moment struct {
		n     int
		known bool // the fact is in the journal
	}
	var moments []moment
	known := false
	a.Watch = func(e journal.Event) {
		if s, ok := e.Data.(*journal.State); ok {
			known = known || slices.ContainsFunc(s.Changes, func(c scratchpad.Change) bool { return c.Key == "fact" })
		}
		if n++; n%step != 0 {
			return
		}
		r, err := Write(h, filepath.Join(dir, fmt.Sprint(n)), "test", clock)
		must(t, err)
		if len(r.Skipped)+len(r.Torn) > 0 {
			t.Errorf("%+v", r)
		}
		moments = append(moments, moment{n, known})
	}
	report, err := a.RunOnce(t.Context())
	must(t, err)
	clock := clock.Add(time.Hour)
	for _, m := range moments {
		to := filepath.Join(dir, fmt.Sprint("of", m.n))
		_, err := Restore(filepath.Join(dir, fmt.Sprint(m.n)), to)
		must(t, err)
		h, a := newHome(t, to)
		a.Now = func() time.Time { return clock }
		if next, err := a.RunOnce(t.Context()); err != nil || next.Exit != 0 || next.Cycle <= report.Cycle {
			t.Fatalf("event %d: the next wake: %+v, %v", m.n, next, err)
		}
		s, err := scratchpad.Load(h.Active())
		must(t, err)
		_, fact := s.Value("fact")
		if len(s.Goals()) != 1 || fact != m.known {
			t.Errorf("event %d, known %v: %q", m.n, m.known, s.Notes())
		}
		ids, err := a.History.Versions()
		must(t, err)
		for _, id := range ids {
			v, err := a.History.Read(id)
			must(t, err)
			for e := range v.All() {
				if _, err := agent.Content(h, e, 100); err != nil {
					t.Errorf("event %d: %v", m.n, err)
				}
			}
		}
	}
	t.Logf("%d of %d moments", len(moments), n)
}

// What is in a home is in its copy, whatever it is called and wherever it leads; what
// has no place in a backup is told.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	h, _ := newHome(t, filepath.Join(dir, "home"))
	in := func(name string) string { return filepath.Join(h.Dir, name) }
	for name, text := range map[string]string{"workspace/odd \"name\"\n\xff": "x", "vault.age": "v", "workspace/.git/HEAD": "ref", "notebooks/n/cells.jsonl": "1", "notebooks/n/venv/bin/python": "no",
		"scratchpad/.active.yaml.0123abcd.tmp": "no", "scratchpad/20260401_000000_before.yaml": "notes: old", "logs/ledger.jsonl": "{}\n",
		"approvals.yaml": "- {id: open, expires: 2999-01-01}\n- {id: approved, expires: 2999-01-01, decision: approve}\n- {id: ended, expires: 2999-01-01, outcome: carried}\n"} {
		must(t, os.MkdirAll(filepath.Dir(in(name)), 0o700))
		must(t, os.WriteFile(in(name), []byte(text), 0o600))
	}
	must(t, os.Symlink("/etc/hosts", in("workspace/link")))
	must(t, os.Mkdir(in("workspace/empty"), 0o500))
	must(t, unix.Mkfifo(in("workspace/pipe"), 0o600))
	must(t, os.Mkdir(in("workspace/closed"), 0))
	must(t, os.WriteFile(in("workspace/holes"), []byte("x"), 0o600))
	must(t, os.Truncate(in("workspace/holes"), 4<<20))
	looked := clock.Add(-time.Hour)
	must(t, os.WriteFile(h.Looked(), nil, 0o600))
	must(t, os.Chtimes(h.Looked(), looked, looked))
	store, err := observation.Open(h.Memory(), observation.Options{})
	must(t, err)
	defer store.Close()
	r, err := Write(h, filepath.Join(dir, "b"), "test", clock)
	must(t, err)
	skipped := "[workspace/pipe]"
	if os.Getuid() != 0 {
		skipped = "[workspace/closed/ workspace/pipe]"
	}
	if fmt.Sprint(r.Skipped) != skipped {
		t.Errorf("%q", r.Skipped)
	}
	to := home.Home{Dir: filepath.Join(dir, "new", "copy")}
	_, err = Restore(filepath.Join(dir, "b"), to.Dir)
	must(t, err)
	had := map[string]bool{"workspace/pipe": true, "notebooks/n/venv": true, "notebooks/n/venv/bin": true, "notebooks/n/venv/bin/python": true, "scratchpad/.active.yaml.0123abcd.tmp": true}
	must(t, filepath.WalkDir(h.Dir, func(path string, d os.DirEntry, err error) error {
		rel := h.Rel(path)
		was, _ := os.Lstat(path)
		is, missing := os.Lstat(filepath.Join(to.Dir, rel))
		switch {
		case had[rel] && missing == nil:
			t.Errorf("%s is in the backup", rel)
		case had[rel] || rel == "approvals.yaml", strings.HasPrefix(rel, "scratchpad/observations.db"):
		case missing != nil || was.Mode() != is.Mode() || !d.IsDir() && d.Type()&os.ModeSymlink == 0 && !was.ModTime().Equal(is.ModTime()):
			t.Errorf("%q is %v, was %v: %v", rel, is, was, missing)
		}
		return err
	}))
	asked, err := os.ReadFile(to.Approvals()) // nobody knows which of these were carried out since
	if must(t, err); strings.Count(string(asked), "withdrawn: the home was restored") != 2 || strings.Count(string(asked), "outcome: carried") != 1 {
		t.Errorf("%s", asked)
	}
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(to.Dir, "workspace/holes"), &st))
	text, err := os.ReadFile(filepath.Join(to.Dir, "workspace/holes"))
	if err != nil || len(text) != 4<<20 || text[0] != 'x' || len(bytes.Trim(text[1:], "\x00")) > 0 || st.Blocks*512 > 1<<20 {
		t.Errorf("a file of holes came back as %d bytes in %d blocks: %v", len(text), st.Blocks, err)
	}
	restored, err := observation.Open(to.Memory(), observation.Options{})
	must(t, err)
	must(t, restored.Close())
}

func unzipped(b []byte) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		return nil
	}
	return text
}

// A backup that is cut or spoilt anywhere makes no home; one that would lead out of it
// neither.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	h, _ := newHome(t, filepath.Join(dir, "home"))
	file, to := filepath.Join(dir, "b"), filepath.Join(dir, "copy")
	_, err := Write(h, file, "test", clock)
	must(t, err)
	whole, err := os.ReadFile(file)
	must(t, err)
	try := func(what string, data []byte) {
		t.Helper()
		must(t, os.WriteFile(file, data, 0o600))
		if _, err := Restore(file, to); err == nil || disk.Exists(to) {
			t.Fatalf("%s: a home was made: %v", what, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".rouse-*")); len(left) > 0 {
			t.Fatalf("%s: %q are left", what, left)
		}
	}
	for at := 0; at < len(whole); at += sweep.Of(1+len(whole)/20, 1+len(whole)/200, 1) {
		try(fmt.Sprint("cut at ", at), whole[:at])
		if spoilt := bytes.Clone(whole); at >= 10 { // the first bytes say nothing of the content
			spoilt[at] ^= 4
			if bytes.Equal(unzipped(spoilt), unzipped(whole)) {
				continue // other bits for the same bytes
			}
			try(fmt.Sprint("spoilt at ", at), spoilt)
		}
	}
	forge := func(head Head, entries ...tar.Header) []byte {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		w := tar.NewWriter(zip)
		text, err := json.Marshal(head)
		must(t, err)
		for _, e := range append([]tar.Header{{Name: headName, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(text))}}, entries...) {
			must(t, w.WriteHeader(&e))
			if e.Name == headName {
				_, err = w.Write(text)
				must(t, err)
			}
		}
		must(t, errors.Join(w.Close(), zip.Close()))
		return b.Bytes()
	}
	sums := tar.Header{Name: sumsName, Typeflag: tar.TypeReg}
	try("newer", forge(Head{Format: format + 1}, sums))
	try("a newer home", forge(Head{Format: format, Home: home.Version + 1}, sums))
	try("without sums", forge(Head{Format: format}))
	for _, e := range []tar.Header{{Name: "../out", Typeflag: tar.TypeReg}, {Name: "/out", Typeflag: tar.TypeReg}, {Name: "dev", Typeflag: tar.TypeChar}} {
		try(e.Name, forge(Head{Format: format}, e, sums))
	}
}

// TestEveryFault: whatever fails, at whatever operation, there is a whole backup or none,
// and one that is there was told to be.
func TestEveryFault(t *testing.T) {
	h, a := newHome(t, t.TempDir(), `{"tool":"write_file","args":{"text":"one"}}`)
	_, err := a.RunOnce(t.Context())
	must(t, err)
	run := func(fault disktest.Fault) *disktest.Faulty {
		dir := t.TempDir()
		f, to := &disktest.Faulty{Fault: fault}, filepath.Join(dir, "b")
		_, err := write(f, h, to, "v", clock)
		whole := disk.Exists(to)
		if whole {
			if _, err := Restore(to, filepath.Join(dir, "home")); err != nil {
				t.Errorf("%s: what is there is no backup: %v", fault, err)
			}
		}
		left, _ := filepath.Glob(dir + "/*.tmp")
		if err == nil && (!whole || len(left) > 0) || err != nil && len(f.Fired()) == 0 {
			t.Errorf("%s: %v, there %v, left %q", fault, err, whole, left)
		}
		return f
	}
	ops, kinds, fired := len(run(disktest.Fault{}).Ops()), disktest.Faults(), 0
	for n, step := 0, sweep.Of(43, 7, 1); n < ops*len(kinds); n += step {
		fault := kinds[n%len(kinds)]
		fault.At = 1 + n/len(kinds)
		fired += len(run(fault).Fired())
	}
	t.Logf("backups torn 0, faults fired %d in %d writes", fired, ops)
	if fired == 0 {
		t.Error("no fault fired")
	}
}
