package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inOut is a workspace, a further root, and a folder outside both with a secret.
func inOut(t *testing.T) (f Folder, outside string) {
	t.Helper()
	dir := t.TempDir()
	f = Folder{Workspace: filepath.Join(dir, "ws"), Roots: []string{filepath.Join(dir, "extra")}}
	outside = filepath.Join(dir, "outside")
	put(t, filepath.Join(f.Workspace, "in.txt"), "inside")
	put(t, filepath.Join(f.Workspace, "d", "f"), "deep")
	put(t, filepath.Join(f.Roots[0], "e.txt"), "extra")
	put(t, filepath.Join(outside, "secret"), "SECRET")
	for name, target := range map[string]string{
		"good":       "in.txt",
		"gooddir":    "d",
		"bad":        "../outside/secret",
		"abs":        filepath.Join(outside, "secret"),
		"absin":      filepath.Join(f.Workspace, "in.txt"),
		"baddir":     "../outside",
		"loop":       "loop2",
		"loop2":      "loop",
		"dangling":   "nowhere",
		"danglingup": "../outside/new",
		"d/up":       "../../outside",
	} {
		if err := os.Symlink(target, filepath.Join(f.Workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	return f, outside
}

func TestTraversal(t *testing.T) {
	f, outside := inOut(t)
	ws, long := f.Workspace, strings.Repeat(strings.Repeat("a", 200)+"/", 20)
	for _, c := range []struct {
		path        string
		read, write string // "" means allowed
	}{
		{"in.txt", "", ""},
		{"./d/../in.txt", "", ""},
		{"good", "", "is a link"},
		{"gooddir/f", "", ""},
		{ws + "/in.txt", "", ""},
		{ws + "//d/./f", "", ""},
		{f.Roots[0] + "/e.txt", "", ""},
		{"", "empty", "empty"},
		{".", "is a folder", "is a folder"},
		{"d", "is a folder", "is a folder"},
		{"d/", "is a folder", "names a folder"},
		{"..", "outside", "outside"},
		{"../outside/secret", "outside", "outside"},
		{"d/../../outside/secret", "outside", "outside"},
		{"../ws/in.txt", "outside", "outside"},
		{"nowhere/../../outside/secret", "outside", "outside"},
		{outside + "/secret", "outside the workspace", "outside the workspace"},
		{ws + "/../outside/secret", "outside the workspace", "outside the workspace"},
		{ws + "2/x", "outside the workspace", "outside the workspace"},
		{f.Roots[0] + "/../outside/secret", "outside the workspace", "outside the workspace"},
		{"/etc/passwd", "outside the workspace", "outside the workspace"},
		{"/", "outside the workspace", "names a folder"},
		{"bad", "outside", "is a link"},
		{"abs", "outside", "is a link"},
		{"absin", "outside", "is a link"},
		{"baddir/secret", "outside", "outside"},
		{"d/up/secret", "outside", "outside"},
		{"gooddir/up/secret", "outside", "outside"},
		{"baddir/new/deep", "outside", "outside"},
		{"loop", "too many levels", "is a link"},
		{"loop/x", "too many levels", "too many levels"},
		{"dangling", "no such file", "is a link"},
		{"danglingup", "outside", "is a link"},
		{"danglingup/x", "outside", "outside"},
		{"missing.txt", "no such file", ""},
		{"IN.TXT", "no such file", ""},
		{"in.txt/x", "not a directory", "not a directory"},
		{"nul\x00x", "NUL", "NUL"},
		{"~/x", "no such file", ""},
		{"%2e%2e/outside/secret", "no such file", ""},
		{"..\\outside\\secret", "no such file", ""},
		{"new\nline", "no such file", ""},
		{strings.Repeat("n", 256), "file name too long", "file name too long"},
		{long + strings.Repeat("f", 76), "no such file", ""},
		{long + strings.Repeat("f", 77), "longer than 4096", "longer than 4096"},
	} {
		name := c.path[:min(len(c.path), 40)]
		r, got := call(t, f, "read_file", map[string]any{"path": c.path})
		if r.OK != (c.read == "") || !strings.Contains(r.Error, c.read) || strings.Contains(got, "SECRET") {
			t.Errorf("read %q: ok %v, %q, error %q", name, r.OK, got, r.Error)
		}
		r, _ = call(t, f, "write_file", map[string]any{"path": c.path, "content": "W"})
		if r.OK != (c.write == "") || !strings.Contains(r.Error, c.write) {
			t.Errorf("write %q: ok %v, error %q", name, r.OK, r.Error)
		}
		if len(r.Error) > 400+len(ws)*3 {
			t.Errorf("write %q: the error has %d bytes", name, len(r.Error))
		}
	}
	unchanged(t, outside)
}

// unchanged fails unless the folder outside holds its secret and nothing more.
func unchanged(t *testing.T, outside string) {
	t.Helper()
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 || content(t, filepath.Join(outside, "secret")) != "SECRET" {
		t.Errorf("outside has changed: %v, %v", names, err)
	}
}

func TestListStaysInside(t *testing.T) {
	f, outside := inOut(t)
	for _, p := range []string{"..", "baddir", "d/up", "gooddir/up", outside, "/", "../ws"} {
		if r, got := call(t, f, "list_files", map[string]any{"path": p, "recursive": true}); r.OK {
			t.Errorf("listed %q: %s", p, got)
		}
	}
	_, got := call(t, f, "list_files", map[string]any{"recursive": true})
	if strings.Contains(got, "/secret\n") && !strings.Contains(got, "-> ") {
		t.Errorf("a link was followed:\n%s", got)
	}
	if r, _ := call(t, f, "list_files", map[string]any{"path": f.Roots[0]}); !r.OK {
		t.Errorf("root: %s", r.Error)
	}
}

// A hard link is not seen through: reading gives what it names. Writing
// replaces the name, so the file outside stays as it is.
func TestHardLink(t *testing.T) {
	f, outside := inOut(t)
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(f.Workspace, "hard")); err != nil {
		t.Skip(err)
	}
	for _, add := range []bool{true, false} {
		if r, _ := call(t, f, "write_file", map[string]any{"path": "hard", "content": "W", "append": add}); !r.OK {
			t.Errorf("write: %s", r.Error)
		}
	}
	unchanged(t, outside)
}

// What is not a regular file is refused, and nothing waits for a writer.
func TestSpecialFiles(t *testing.T) {
	f := Folder{Workspace: t.TempDir(), Roots: []string{"/dev"}}
	if err := syscall.Mkfifo(filepath.Join(f.Workspace, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	t.Chdir(f.Workspace) // a socket's path is short
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "sock"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"fifo", "is a FIFO"},
		{"sock", "is a socket"},
		{"/dev/zero", "is a device"},
		{"/dev/null", "is a device"},
	} {
		if r, _ := call(t, f, "read_file", map[string]any{"path": c.path}); !strings.Contains(r.Error, c.want) {
			t.Errorf("read %s: %+v", c.path, r)
		}
		for _, add := range []bool{false, true} {
			r, _ := call(t, f, "write_file", map[string]any{"path": c.path, "content": "x", "append": add})
			if !strings.Contains(r.Error, c.want) {
				t.Errorf("write %s: %+v", c.path, r)
			}
		}
	}
}

func TestPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read and write everything: run as another user")
	}
	f := Folder{Workspace: t.TempDir()}
	p := filepath.Join(f.Workspace, "no")
	put(t, p, "x")
	if err := os.Chmod(p, 0); err != nil {
		t.Fatal(err)
	}
	if r, _ := call(t, f, "read_file", map[string]any{"path": "no"}); !strings.Contains(r.Error, "permission denied") {
		t.Errorf("%+v", r)
	}
}
