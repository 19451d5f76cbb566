package scratchpad

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/internal/disk"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir("folder", 0o700))
	must(syscall.Mkfifo("fifo", 0o600))
	l, err := net.Listen("unix", "socket")
	must(err)
	defer l.Close()
	must(os.Symlink("nowhere", "dangling"))
	must(os.Symlink("loop", "loop"))
	must(os.Symlink("fifo", "tofifo"))
	write(t, "file", "")
	for _, tt := range []struct{ path, want string }{
		{"folder", "read folder: a folder, not a regular file"},
		{"fifo", "read fifo: a FIFO, not a regular file"},
		{"tofifo", "read tofifo: a FIFO, not a regular file"},
		{"socket", "read socket: a socket, not a regular file"},
		{"/dev/zero", "read /dev/zero: a device, not a regular file"},
		{"dangling", "read dangling: a symbolic link to nothing"},
		{"loop", "read loop: too many levels of symbolic links"},
		{"file/x", "read file/x: not a directory"},
		{"missing", "read missing: no such file or directory"},
		{"missing/x", "read missing/x: no such file or directory"},
	} {
		_, err := Load(tt.path)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
		if missing := strings.HasPrefix(tt.path, "missing"); errors.Is(err, fs.ErrNotExist) != missing {
			t.Errorf("%s: ErrNotExist is %v", tt.path, !missing)
		}
	}
}

func TestLoadUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every file")
	}
	path := filepath.Join(t.TempDir(), "active.yaml")
	write(t, path, "")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestLoadFollowsALink(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "file", "notes: a\n")
	if err := os.Symlink("file", "link"); err != nil {
		t.Fatal(err)
	}
	s, err := Load("link")
	if err != nil || s.Notes() != "a" {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestLoadSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "active.yaml")
	text := "notes: " + strings.Repeat("x", MaxBytes-8) + "\n"
	write(t, path, text)
	s, err := Load(path)
	if err != nil || len(s.Notes()) != MaxBytes-8 || !s.Large() {
		t.Fatalf("a file of %d bytes: %v", MaxBytes, err)
	}
	write(t, path, text[:len(text)-1]+"x\x00") // a NUL: the limit comes before parsing
	if _, err := Load(path); err == nil || err.Error() != "read "+path+": 8388609 bytes, the limit is 8388608" {
		t.Errorf("one byte more: %v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil { // sparse: 1 TiB
		t.Skip(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("1 TiB was read")
	}
}

func TestLarge(t *testing.T) {
	if mustParse(t, "# "+strings.Repeat("x", LargeBytes-3)).Large() {
		t.Error("a byte less is large")
	}
	if !mustParse(t, "# "+strings.Repeat("x", LargeBytes-2)).Large() {
		t.Error("the limit is not large")
	}
}

func TestRefusedFileIsUntouched(t *testing.T) {
	for _, text := range []string{"a: [", "\xff\xfea\x00", "a: 1\n---\n", "notes: 5\n", "a: \x00"} {
		path := filepath.Join(t.TempDir(), "active.yaml")
		write(t, path, text)
		old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil {
			t.Errorf("%q was read", text)
		}
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%q: time changed, %v", text, err)
		}
		if b, _ := os.ReadFile(path); string(b) != text {
			t.Errorf("%q became %q", text, b)
		}
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.yaml"), filepath.Join(dir, "active.yaml")
	write(t, target, "# hi\r\nnotes: a # c\r\n")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.yaml", link); err != nil {
		t.Fatal(err)
	}
	s, err := Load(link)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 4, 1, 15, 1, 54, 200_000_999, time.Local)
	if err := s.Save(disk.OS{}, link, now); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(target)
	want := "# hi\r\nnotes: a # c\r\ngoals: []\r\ncurrent_task: null\r\npending_actions: []\r\ncompleted_tasks: []\r\nlast_updated: '2026-04-01T15:01:54.200000'\r\n"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if !isLink(link) {
		t.Error("the link was replaced")
	}
	if again, err := Load(link); err != nil || again.Hash() != s.Hash() || s.LastUpdated() != "2026-04-01T15:01:54.200000" {
		t.Errorf("read back %v, %v", again, err)
	}
}

func TestSaveNewAndSnapshot(t *testing.T) {
	dir := t.TempDir()
	s := New()
	before, after := filepath.Join(dir, "before.yaml"), filepath.Join(dir, "active.yaml")
	if err := s.Snapshot(disk.OS{}, before); err != nil {
		t.Fatal(err)
	}
	want := "goals: []\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\nnotes: \"\"\nlast_updated: null\n"
	if b, err := os.ReadFile(before); err != nil || string(b) != want {
		t.Errorf("got %q, %v", b, err)
	}
	if err := s.Snapshot(disk.OS{}, before); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second snapshot: %v", err)
	}
	if err := s.Save(disk.OS{}, after, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{before, after} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

// noRename is a disk on which files cannot be renamed.
type noRename struct{ disk.OS }

func (noRename) Rename(string, string) error { return errors.New("no rename today") }

func TestSaveFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "active.yaml")
	write(t, path, "notes: a\n")
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, Change{OpAppend, "notes", "b"})
	before := s.Hash()
	if err := s.Save(noRename{}, path, time.Now()); err == nil || err.Error() != "save "+path+": no rename today" {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "notes: a\n" {
		t.Errorf("the file became %q", b)
	}
	if s.Hash() != before || s.LastUpdated() != "" {
		t.Error("the state changed")
	}
	if err := s.Save(disk.OS{}, path, time.Now()); err != nil {
		t.Error(err)
	}
}

func TestSaveThroughADanglingLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("nowhere", "active.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := New().Save(disk.OS{}, "active.yaml", time.Now()); err == nil || !isLink("active.yaml") {
		t.Errorf("got %v", err)
	}
}
