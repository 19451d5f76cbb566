package replay

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		t.Run(strings.TrimSuffix(filepath.Base(name), ".tar.gz"), func(t *testing.T) {
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
		})
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
