package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

var (
	oldText = strings.Repeat("old line\n", 500)
	newText = strings.Repeat("a new and longer line\n", 700)
)

// writer is a way to make a file hold newText; name is below the folder.
type writer func(f disk.FS, name string) error

func replace(f disk.FS, name string) error {
	return disk.Replace(f, name, []byte(newText), 0o600)
}

func create(f disk.FS, name string) error {
	return disk.Create(f, name, []byte(newText), 0o600)
}

// below is a file system of a fresh folder, and what to put before names in it.
type below func(t *testing.T, dir string) (disk.FS, string)

func onOS(_ *testing.T, dir string) (disk.FS, string) { return disk.OS{}, dir + "/" }

func onRoot(t *testing.T, dir string) (disk.FS, string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return disk.Root{R: root}, ""
}

// unsynced spares the test machine's disk: syncing is for what comes after a
// loss of power, and these tests lose none.
type unsynced struct{ disk.FS }

type unsyncedFile struct{ disk.File }

func (unsyncedFile) Sync() error { return nil }

func (unsynced) SyncDir(name string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

func TestEveryFaultAtEveryOperation(t *testing.T) {
	tests := []struct {
		name   string
		fs     below
		write  writer
		before string // what the file holds before, "" for no file
	}{
		{"Replace", onOS, replace, oldText},
		{"Replace, new", onOS, replace, ""},
		{"Replace in a Root", onRoot, replace, oldText},
		{"Create", onOS, create, ""},
		{"Create in a Root", onRoot, create, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			temps, kept := 0, 0
			points := disktest.Sweep(t, disktest.Faults(), func(f *disktest.Faulty) {
				dir := freshDir(t, tt.before)
				base, prefix := tt.fs(t, dir)
				f.FS = unsynced{base}
				err := tt.write(f, prefix+"file")
				checkTold(t, f, err)
				got := read(t, filepath.Join(dir, "file"))
				if got != tt.before && got != newText {
					t.Fatalf("%v: torn: %d bytes", f.Fault, len(got))
				}
				if err == nil && got != newText {
					t.Fatalf("%v: silent success: the file holds what it held before", f.Fault)
				}
				if got == tt.before {
					kept++
				}
				n := disktest.CountTemps(t, dir)
				if n > 0 && !f.Fault.Mode.Crash() && !f.Fault.Stays {
					t.Errorf("%v, %v: a temporary file is left", f.Fault, f.Fired())
				}
				temps += n
			})
			t.Logf("torn 0 / %d points, all faults fired; silent successes 0; old kept at %d; temporary files left at %d", points, kept, temps)
		})
	}
}

// checkTold wants an error that is the fault's if and only if the fault fired.
func checkTold(t *testing.T, f *disktest.Faulty, err error) {
	t.Helper()
	want := error(f.Fault.Err)
	if f.Fault.Mode.Crash() {
		want = disktest.ErrCrashed
	}
	if len(f.Fired()) == 0 {
		want = nil
	}
	if !errors.Is(err, want) {
		t.Fatalf("%v: met %q, told as %v", f.Fault, f.Fired(), err)
	}
}

func TestInPlaceWriterIsTorn(t *testing.T) {
	torn := 0
	points := disktest.Sweep(t, disktest.Faults(), func(f *disktest.Faulty) {
		dir := freshDir(t, oldText)
		inPlace(f, filepath.Join(dir, "file"))
		if got := read(t, filepath.Join(dir, "file")); got != oldText && got != newText {
			torn++
		}
	})
	t.Logf("a writer in place is torn at %d / %d points", torn, points)
	if torn == 0 {
		t.Error("the faults do not even tear a writer in place")
	}
}

func inPlace(f disk.FS, name string) error {
	w, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(newText)); err != nil {
		w.Close()
		return err
	}
	if err := w.Sync(); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

func TestErrorNamesFileOperationAndCause(t *testing.T) {
	dir := freshDir(t, oldText)
	f := &disktest.Faulty{Fault: disktest.Fault{At: 2, Mode: disktest.Half, Err: syscall.ENOSPC}}
	err := replace(f, filepath.Join(dir, "file"))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("no space left, told as %v", err)
	}
	for _, part := range []string{"write", filepath.Join(dir, ".file."), "no space left on device"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	for _, fsys := range []below{onOS, onRoot} {
		dir := freshDir(t, oldText)
		f, prefix := fsys(t, dir)
		if err := create(f, prefix+"file"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%T: Create over a file: %v", f, err)
		}
		if got := read(t, filepath.Join(dir, "file")); got != oldText {
			t.Errorf("%T: the file changed", f)
		}
		if n := disktest.CountTemps(t, dir); n > 0 {
			t.Errorf("%T: %d temporary files are left", f, n)
		}
	}
}

func TestCreateRace(t *testing.T) {
	const rounds, writers = 200, 4
	dir := t.TempDir()
	for range rounds {
		name := filepath.Join(dir, "file")
		var won []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				text := strings.Repeat(string(rune('a'+i)), 1000+i)
				err := disk.Create(unsynced{disk.OS{}}, name, []byte(text), 0o600)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, text)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 || read(t, name) != won[0] {
			t.Fatalf("%d writers of %d won, or the file is not the winner's", len(won), writers)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if n := disktest.CountTemps(t, dir); n > 0 {
		t.Errorf("%d temporary files are left", n)
	}
	t.Logf("overwritten 0 / %d races of %d writers", rounds, writers)
}

func TestRootHoldsNames(t *testing.T) {
	outside := freshDir(t, oldText)
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	f, _ := onRoot(t, dir)
	for _, name := range []string{"../file", "link/file", "link/../../file", filepath.Join(outside, "file")} {
		for _, write := range []writer{replace, create} {
			if err := write(f, name); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
	if got := read(t, filepath.Join(outside, "file")); got != oldText || disktest.CountTemps(t, outside) > 0 {
		t.Error("something outside changed")
	}
}

func TestReplaceSetsThePermissions(t *testing.T) {
	dir := freshDir(t, oldText)
	name := filepath.Join(dir, "file")
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replace(disk.OS{}, name); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}

func TestIsTemp(t *testing.T) {
	tests := []struct {
		base string
		want bool
	}{
		{".active.yaml.0123abcd.tmp", true},
		{".a.0123abcd.tmp", true},
		{"active.yaml", false},
		{"active.yaml.0123abcd.tmp", false},
		{".active.yaml.tmp", false},
		{".active.yaml.0123abcd.tmp.", false},
		{".0123abcd.tmp", false},
		{".gitignore", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := disk.IsTemp(tt.base); got != tt.want {
			t.Errorf("IsTemp(%q) = %v", tt.base, got)
		}
	}
}

// freshDir makes a folder with a file, unless before is "".
func freshDir(t *testing.T, before string) string {
	t.Helper()
	dir := t.TempDir()
	if before == "" {
		return dir
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// read is what a file holds, "" if there is none.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}
