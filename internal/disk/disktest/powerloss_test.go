package disktest

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
)

// outcomes lists what the files of a folder may be after a loss of power, each
// once, as "name=data name=data".
func outcomes(t *testing.T, p *PowerLoss) []string {
	t.Helper()
	seen := make(map[string]bool)
	for seed := range uint64(100) {
		dir := t.TempDir()
		if err := p.Crash(dir, seed); err != nil {
			t.Fatal(err)
		}
		var files []string
		names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, filepath.Base(name)+"="+string(data))
		}
		seen[strings.Join(files, " ")] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func TestPowerLoss(t *testing.T) {
	appendTo := func(name, text string, sync bool) func(*PowerLoss, string) error {
		return func(p *PowerLoss, dir string) error {
			f, err := p.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			if err != nil {
				return err
			}
			_, err = f.Write([]byte(text))
			if sync {
				err = errors.Join(err, f.Sync())
			}
			return errors.Join(err, f.Close())
		}
	}
	syncDir := func(p *PowerLoss, dir string) error { return p.SyncDir(dir) }
	type step = func(*PowerLoss, string) error
	tests := []struct {
		name  string
		steps []step
		want  []string
	}{
		{"nothing", nil, []string{"a=12"}},
		{"an appended line", []step{appendTo("a", "34", false)}, []string{"a=12", "a=12\x00\x00", "a=123", "a=123\x00", "a=1234"}},
		{"an appended line, synced", []step{appendTo("a", "34", true)}, []string{"a=1234"}},
		{"then one more", []step{appendTo("a", "34", true), appendTo("a", "5", false)}, []string{"a=1234", "a=1234\x00", "a=12345"}},
		{"a new file", []step{appendTo("b", "3", true)}, []string{"a=12", "a=12 b=3"}},
		{"a new name, synced", []step{appendTo("b", "3", false), syncDir}, []string{"a=12 b=", "a=12 b=\x00", "a=12 b=3"}},
		{"removed", []step{func(p *PowerLoss, dir string) error { return p.Remove(dir + "/a") }}, []string{"", "a=12"}},
		{"linked", []step{func(p *PowerLoss, dir string) error { return p.Link(dir+"/a", dir+"/b") }}, []string{"a=12", "a=12 b=12"}},
		{"renamed", []step{func(p *PowerLoss, dir string) error { return p.Rename(dir+"/a", dir+"/b") }}, []string{"a=12", "b=12"}},
		{"a new folder", []step{func(p *PowerLoss, dir string) error {
			return errors.Join(p.MkdirAll(dir+"2", 0o700), appendTo("b", "3", true)(p, dir+"2"), p.SyncDir(dir+"2"))
		}}, []string{"a=12", "a=12 b=3"}},
	}
	for _, tt := range tests {
		root := t.TempDir()
		dir := filepath.Join(root, "dir")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "a"), []byte("12"), 0o600)); err != nil {
			t.Fatal(err)
		}
		p, err := NewPowerLoss(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range tt.steps {
			if err := step(p, dir); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		if diff := cmp.Diff(tt.want, outcomes(t, p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestFaultyCounts(t *testing.T) {
	dir := t.TempDir()
	f := &Faulty{}
	if err := disk.Create(f, dir+"/a", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, op := range f.Ops() {
		name, _, _ := strings.Cut(op, " ")
		names = append(names, name)
	}
	want := []string{"open", "write", "sync", "close", "link", "remove", "syncdir"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDeadAfterACrash(t *testing.T) {
	dir := t.TempDir()
	f := &Faulty{Fault: Fault{At: 2, Mode: CrashHalf}}
	w, err := f.OpenFile(dir+"/a", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write([]byte("1234")); n != 2 || !errors.Is(err, ErrCrashed) {
		t.Errorf("Write = %d, %v", n, err)
	}
	if err := errors.Join(w.Close(), f.Remove(dir+"/a")); !errors.Is(err, ErrCrashed) {
		t.Errorf("after the crash: %v", err)
	}
	if data, err := os.ReadFile(dir + "/a"); string(data) != "12" || err != nil {
		t.Errorf("the file holds %q, %v", data, err)
	}
}
