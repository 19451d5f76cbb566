package replay

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/home"
	"rouse/journal"
	"rouse/scratchpad"
)

// TestFixtures replays cycles as older versions of Rouse recorded them: in each one that
// does all sorts of things, one in the json protocol that ends at a limit, one that was
// killed in a call, and one whose model failed. A change that they do not survive breaks
// people's records. They are by the rouse of 70efc01, d5ed2b7, c60a5a4, 91054b0
// and, with checks and evidence, d303d85.
func TestFixtures(t *testing.T) {
	names, err := filepath.Glob("testdata/*.tar.gz")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".tar.gz"), func(t *testing.T) { comeToTheSame(t, name) })
	}
}

// comeToTheSame replays the cycles of an archive.
func comeToTheSame(t *testing.T, name string) {
	h := unpacked(t, name)
	ids, err := h.Cycles(0)
	if err != nil || len(ids) != 4 {
		t.Fatal(ids, err)
	}
	for i, id := range ids {
		rebuilt(t, h, id)
		got, err := Run(t.Context(), h, id, Options{})
		said := ""
		if err != nil {
			said = err.Error()
		} else if !got.Same {
			said = got.First.String()
		}
		if want := since(filepath.Base(name), len(ids)-1-i); want == "" && said != "" || !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %q", id, said, want)
		}
	}
}

// since is what became different on purpose since a version, by its cycles.
func since(version string, cycle int) string {
	switch {
	case strings.HasPrefix(version, "1_"):
		return "older rouse"
	case strings.HasPrefix(version, "2_") && cycle == 0:
		return `"notes","op":"set","value":"short\n[NOTE] the house` // a model that replaces its notes keeps those of the cycle
	case strings.HasPrefix(version, "2_") && cycle == 3:
		return "recorded sleep `{\"iterations\":2,\"task\":null}`, now tidied" // the calls of earlier cycles are folded
	}
	return ""
}

// rebuilt wants the changes that a journal has to make _after of _before.
func rebuilt(t *testing.T, h home.Home, id string) {
	t.Helper()
	state, err := h.LoadFile(h.Before(id))
	if err == nil {
		err = journal.Rebuild(state, journal.Read(h.Journal(id)))
	}
	after, failed := h.LoadFile(h.After(id))
	if err != nil || failed != nil || !scratchpad.Equal(state, after) {
		t.Errorf("%s: the journal does not lead from _before to _after: %v %v", id, err, failed)
	}
}

// unpacked is the home that an archive has.
func unpacked(t *testing.T, name string) home.Home {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	h := home.Home{Dir: t.TempDir()}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return h
		}
		path := filepath.Join(h.Dir, filepath.FromSlash(head.Name))
		data, failed := io.ReadAll(r)
		if err := errors.Join(err, failed, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecord records such cycles by this version, and replays them: into the file that
// $ROUSE_RECORD names, such as testdata/6_what.tar.gz. A version that changes what a
// journal has adds one.
func TestRecord(t *testing.T) {
	to := cmp.Or(os.Getenv("ROUSE_RECORD"), filepath.Join(t.TempDir(), "now.tar.gz"))
	r := newRig(t, 1)
	for i, calls := range [][]string{
		{"effect", `{"label":"a","task_scratchpad":"<fact>"}`, "big", `{"n":9000}`, "nosuch", `{}`, "effect", `{"label":"bad"}`, "update_scratchpad", `{"fact":1,"notes":"short"}`, "done", `{"summary":"seen"}`},
		{"effect", `{"label":"b"}`, "effect", `{"label":"same"}`, "effect", `{"label":"same"}`},
		{"effect", `{"label":"c"}`, "effect", `{"label":"kill"}`},
		{"effect", `{"label":"d"}`},
	} {
		r.cycle(r.agent(asker(func(req model.Request) (model.Reply, error) {
			if len(calls) == 0 {
				return model.Reply{}, errors.New("away <so>")
			}
			tool, args := calls[0], calls[1]
			calls = calls[2:]
			return act(req, tool, args), nil
		}), func(a *agent.Agent, c *config.Config) {
			c.Cycle.NotesMax = 2000
			if i == 1 {
				a.Protocol, a.MaxIterations = agent.ProtocolJSON, 3
			}
		}))
	}
	f, err := os.Create(to)
	r.must(err)
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, pattern := range []string{"logs/*.jsonl", "logs/made/*", "scratchpad/*_before.yaml", "scratchpad/*_after.yaml"} {
		names, err := filepath.Glob(filepath.Join(r.home.Dir, pattern))
		r.must(err)
		for _, name := range names {
			text := r.read(name)
			r.must(w.WriteHeader(&tar.Header{Name: r.home.Rel(name), Mode: 0o600, Size: int64(len(text))}))
			_, err := w.Write([]byte(text))
			r.must(err)
		}
	}
	r.must(errors.Join(w.Close(), z.Close(), f.Close()))
	comeToTheSame(t, to)
}
