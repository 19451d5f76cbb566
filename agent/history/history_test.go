package history

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

func TestMain(m *testing.M) { disktest.Main(m) }

// rig is a folder with a history.
type rig struct {
	testing.TB
	Store
	root string
	n    int
}

func newRig(t testing.TB) *rig {
	dir := t.TempDir()
	r := &rig{TB: t, root: filepath.Join(dir, "workspace"), Store: Store{Dir: filepath.Join(dir, "logs", "history"), MaxFile: 1 << 20, MaxBytes: 64 << 20}}
	r.must(os.MkdirAll(r.root, 0o700))
	r.must(os.MkdirAll(filepath.Dir(r.Dir), 0o700))
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// files writes files; a path that ends in a slash is a folder.
func (r *rig) files(contents map[string]string) {
	r.Helper()
	for path, text := range contents {
		path := filepath.Join(r.root, path) + path[len(path)-1:]
		if strings.HasSuffix(path, "/") {
			r.must(os.MkdirAll(path, 0o700))
			continue
		}
		path = path[:len(path)-1]
		r.must(os.MkdirAll(filepath.Dir(path), 0o700))
		r.must(os.WriteFile(path, []byte(text), 0o600))
	}
}

// calm lets a version be of a time at which all files were old, so that their times tell,
// also of what is changed from now on.
func (r *rig) calm(v *Version) {
	r.Helper()
	v.Scanned += int64(time.Hour)
	_, err := r.write(v)
	r.must(err)
	for now := r.stamp(); r.stamp() == now; {
	}
}

// stamp is the time that a file gets that is written now.
func (r *rig) stamp() int64 {
	path := r.root + "-stamp"
	r.must(os.WriteFile(path, nil, 0o600))
	var st unix.Stat_t
	r.must(unix.Stat(path, &st))
	return st.Ctim.Nano()
}

func (r *rig) id(n int) string { return After(fmt.Sprintf("20260401_1501%02d", n)) }

// take makes the next version.
func (r *rig) take() Taken {
	r.Helper()
	r.n++
	t, err := r.Take(r.root, r.id(r.n))
	r.must(err)
	return t
}

// tree is a folder in words, for comparison.
func (r *rig) tree() string {
	r.Helper()
	var b strings.Builder
	r.must(filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		r.must(err)
		info, err := d.Info()
		if path == r.root || err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.root, path)
		fmt.Fprintf(&b, "%v %q", info.Mode(), rel)
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			r.must(err)
			fmt.Fprintf(&b, " %d %q", info.ModTime().UnixNano(), text)
		case info.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			r.must(err)
			fmt.Fprintf(&b, " %q", to)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func (v *Version) entry(path string) *Entry {
	for e := range v.All() {
		if e.Path == path {
			return &e
		}
	}
	return nil
}

func (r *rig) text(v *Version, path string) string {
	r.Helper()
	c := r.Contents()
	defer c.Close()
	e := v.entry(path)
	if e == nil {
		r.Fatalf("version %s has no %s", v.ID, path)
	}
	from, err := c.Of(*e)
	r.must(err)
	text, err := io.ReadAll(from)
	r.must(err)
	return string(text)
}

// A version has the files as they were; what did not change is not written again, and
// where nothing did there is no version.
func TestVersions(t *testing.T) {
	r := newRig(t)
	if got := r.take(); got.Version != nil || got.Made || disk.Exists(r.Dir) {
		t.Fatalf("of an empty folder: %+v", got)
	}
	odd := "a \"name\"\twith\nall \xff"
	r.files(map[string]string{"a": "one", "sub/b": "two", "sub/.git/HEAD": "ref", "empty/": "", "same": "one", odd: "x"})
	r.must(os.Symlink("../sub/b", filepath.Join(r.root, "empty", "link")))
	r.must(os.Chmod(filepath.Join(r.root, "a"), 0o751))
	first := r.take()
	if !first.Made || first.Changed != 9 || first.Version.Parent != "" || len(first.Warnings) > 0 {
		t.Fatalf("%+v", first)
	}
	r.calm(first.Version)
	if again := r.take(); again.Made || again.Version.ID != first.Version.ID {
		t.Fatalf("nothing changed, and %+v", again)
	}
	r.files(map[string]string{"a": "new", "moved": "two"})
	r.must(os.Remove(filepath.Join(r.root, "sub", "b")))
	second := r.take()
	if !second.Made || second.Changed != 3 || second.Version.Parent != first.Version.ID {
		t.Fatalf("%+v", second)
	}
	if f, all, err := r.openPack(second.Version.ID); err != nil || len(all) != 1 || f.Close() != nil {
		t.Errorf("the pack has %d contents, one is new: %v", len(all), err)
	}
	v, err := r.At(After("20260401_150103"))
	r.must(err)
	if v.ID != first.Version.ID || r.text(v, "a") != "one" || r.text(v, odd) != "x" || r.text(v, "sub/b") != "two" {
		t.Errorf("%+v", v)
	}
	if fmt.Sprint(v) != fmt.Sprint(first.Version) {
		t.Errorf("%v is read as %v", first.Version, v)
	}
	if none, err := r.At(Before("20260401_150102")); err != nil || none.Files() > 0 {
		t.Errorf("before the first there was nothing: %+v, %v", none, err)
	}
}

// Of a file that was written within a tick of the scan, times tell nothing.
func TestRacyFileIsReadAgain(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"a": "one"})
	v := r.take().Version
	r.files(map[string]string{"a": "two"})
	var st unix.Stat_t
	r.must(unix.Stat(filepath.Join(r.root, "a"), &st))
	e := v.entry("a")
	e.Mod, e.Change = st.Mtim.Nano(), st.Ctim.Nano() // as if it was the same tick
	v.lines = e.appendLine(nil)
	v.Scanned = st.Ctim.Nano()
	_, err := r.write(v)
	r.must(err)
	if got := r.take(); !got.Made || r.text(got.Version, "a") != "two" {
		t.Errorf("%+v", got)
	}
}

// A content of the same size whose time was set back is seen all the same.
func TestTimeSetBack(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"a": "one"})
	r.calm(r.take().Version)
	info, err := os.Stat(filepath.Join(r.root, "a"))
	r.must(err)
	r.files(map[string]string{"a": "two"})
	r.must(os.Chtimes(filepath.Join(r.root, "a"), info.ModTime(), info.ModTime()))
	if got := r.take(); !got.Made || r.text(got.Version, "a") != "two" {
		t.Errorf("%+v", got)
	}
}

// A folder whose times did not change is not listed again; that a name came and went
// there is no change.
func TestNamesInAFolder(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"d/a": "one", "d/b": "two", "d/e/f/g": "x", "d-h": "y"})
	v := r.take().Version
	all := v.lines
	v.lines = slices.Concat(v.entry("d").appendLine(nil), v.entry("d/a").appendLine(nil), all[bytes.Index(all, v.entry("d/e").appendLine(nil)):])
	r.calm(v)
	c, err := r.look(r.root, v, nil)
	r.must(err)
	if !c.telling {
		t.Skip("the times of folders tell nothing here")
	}
	if got := r.take(); got.Made {
		t.Errorf("%+v", got)
	}
	r.files(map[string]string{"d/new": ""})
	r.must(os.Remove(filepath.Join(r.root, "d/new")))
	got := r.take()
	if got.Changed != 1 || got.Version.entry("d/b") == nil {
		t.Fatalf("%+v", got)
	}
	r.calm(got.Version)
	r.files(map[string]string{"d/e/f/new": ""})
	r.must(os.Remove(filepath.Join(r.root, "d/e/f/new")))
	if got := r.take(); got.Made {
		t.Errorf("%+v", got)
	}
	r.must(os.RemoveAll(filepath.Join(r.root, "d/e")))
	r.files(map[string]string{"d/e": "a file"})
	if got := r.take(); got.Changed != 3 || got.Version.Files() != 5 {
		t.Errorf("%+v", got)
	}
}

// changing changes a file while it is read.
type changing struct {
	io.Reader
	path string
	left *int
}

func (c changing) Read(b []byte) (int, error) {
	if *c.left > 0 {
		*c.left--
		_ = os.WriteFile(c.path, fmt.Appendf(nil, "still %d to come", *c.left), 0o600)
	}
	return c.Reader.Read(b)
}

// A file that changes while it is read is read again; one that never stops is said.
func TestChangesWhileItIsRead(t *testing.T) {
	for times, said := range map[int]int{1: 0, 100: 1} {
		r := newRig(t)
		r.files(map[string]string{"a": "one"})
		path, left := filepath.Join(r.root, "a"), times
		root, err := os.OpenRoot(r.root)
		r.must(err)
		defer root.Close()
		c, e := &scan{maxFile: 100}, Entry{Path: "a"}
		r.must(c.steady(root, &e, func(from io.Reader) (string, error) { return sumOf(changing{from, path, &left}) }))
		if len(c.problems) != said {
			t.Errorf("changed %d times: %q", times, c.problems)
		}
	}
}

// What cannot be kept is listed and named once, and nothing waits for a FIFO.
func TestLeftOut(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"large": strings.Repeat("x", 1<<20+1), "a": "one"})
	r.must(unix.Mkfifo(filepath.Join(r.root, "pipe"), 0o600))
	got := r.take()
	if want := "the history leaves out large (too large, 1048577 bytes), pipe (a FIFO, 0 bytes)"; len(got.Warnings) != 1 || got.Warnings[0] != want {
		t.Fatalf("%q", got.Warnings)
	}
	r.files(map[string]string{"b": "two"})
	if again := r.take(); !again.Made || len(again.Warnings) > 0 {
		t.Errorf("%+v", again)
	}
	link := r.root + "-link"
	r.must(os.Symlink(r.root, link))
	if _, err := r.Take(link, r.id(50)); err == nil || !strings.Contains(err.Error(), "history.workspace: on") {
		t.Error(err)
	}
	r.MaxBytes = 10
	r.files(map[string]string{"c": "more than ten bytes"})
	if _, err := r.Take(r.root, r.id(51)); err == nil || !strings.Contains(err.Error(), "history.max_bytes") {
		t.Error(err)
	}
}

// What is in a folder that can be listed, and no more, is left out and did not go.
func TestNameAlone(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"a": "one"})
	c, err := r.look(r.root, nil, nil)
	r.must(err)
	long := strings.Repeat("x", 300) // no file system has such a name
	c.path = []byte(long)
	r.must(c.file(unix.AT_FDCWD, long, 0))
	if e := (&Version{lines: c.lines()}).entry(long); e == nil || e.Kind != Out || e.Is != "file name too long" {
		t.Errorf("%+v", e)
	}
}

// A version costs three fsyncs, however much changed.
func TestSyncs(t *testing.T) {
	r := newRig(t)
	f := &disktest.Faulty{}
	r.Disk = f
	for i := range 30 {
		r.files(map[string]string{fmt.Sprint(i): fmt.Sprint("content ", i)})
	}
	r.take()
	r.files(map[string]string{"1": "new", "2": "newer"})
	before := len(f.Ops())
	r.take()
	syncs := 0
	for _, op := range f.Ops()[before:] {
		if strings.HasPrefix(op, "sync") {
			syncs++
		}
	}
	if syncs != 3 {
		t.Errorf("%d syncs: %q", syncs, f.Ops()[before:])
	}
}

// What is damaged is named and never believed: a manifest is passed over, a content is
// an error, and what is gone is kept anew.
func TestDamage(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"a": "one", "b": "two"})
	first := r.take().Version
	spoil := func(path string, at int64) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		r.must(err)
		b := make([]byte, 1)
		_, err = f.ReadAt(b, at)
		r.must(err)
		_, err = f.WriteAt([]byte{b[0] ^ 0x20}, at)
		r.must(err)
		r.must(f.Close())
	}
	size, err := os.Stat(r.manifest(first.ID))
	r.must(err)
	for at := range size.Size() {
		spoil(r.manifest(first.ID), at)
		if v, err := r.Read(first.ID); err == nil && fmt.Sprint(v) != fmt.Sprint(first) {
			t.Fatalf("byte %d: believed as %v", at, v)
		}
		spoil(r.manifest(first.ID), at)
	}
	spoil(r.manifest(first.ID), 40)
	r.cached = nil // as in another process
	got := r.take()
	if !got.Made || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "version "+first.ID+" is damaged") || r.text(got.Version, "b") != "two" {
		t.Fatalf("%+v", got)
	}
	info, err := os.Stat(r.pack(got.Version.ID))
	r.must(err)
	for at := range info.Size() {
		spoil(r.pack(got.Version.ID), at)
		c := r.Contents()
		if from, err := c.Of(*got.Version.entry("b")); err == nil {
			if text, err := io.ReadAll(from); err == nil && string(text) != "two" {
				t.Fatalf("byte %d: believed as %q", at, text)
			}
		}
		c.Close()
		spoil(r.pack(got.Version.ID), at)
	}
	r.must(os.Remove(r.pack(got.Version.ID)))
	r.files(map[string]string{"c": "three"})
	healed := r.take()
	if len(healed.Warnings) != 1 || r.text(healed.Version, "a") != "one" || r.text(healed.Version, "c") != "three" {
		t.Errorf("%+v", healed)
	}
}
