package files

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rouse/internal/disk"
	"rouse/internal/sweep"
)

var tries = flag.Int("tries", 0, "reads, writes and listings tried in the race test, each; 0 is what a second allows")

// A thread swaps a folder of the workspace with a link to a folder outside as
// fast as it can, while the tools read, write and list through that name.
func TestRace(t *testing.T) {
	f, outside := inOut(t)
	f.Wrap = func(d disk.FS) disk.FS { return unsynced{d} } // many more tries a second
	name, link := filepath.Join(f.Workspace, "swap"), filepath.Join(f.Workspace, "link")
	put(t, filepath.Join(name, "secret"), "inside")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	swaps, done := 0, make(chan error)
	go func() {
		var err error
		for ; err == nil && !stop.Load(); swaps++ {
			err = unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		}
		done <- err
	}()
	got, n := map[string]int{}, 0
	some := func() bool { return got["read inside"] > 0 && got["read refused"] > 0 }
	least, most := time.Now().Add(sweep.Of(300*time.Millisecond, time.Second, time.Second)), time.Now().Add(time.Minute)
	for ; n < *tries || *tries == 0 && (time.Now().Before(least) || !some() && time.Now().Before(most)); n++ {
		r, text := call(t, f, "read_file", map[string]any{"path": "swap/secret"})
		got["read "+outcome(r.Error, text)]++
		r, _ = call(t, f, "write_file", map[string]any{"path": fmt.Sprintf("swap/w%d", n%10), "content": "W"})
		got["write "+outcome(r.Error, "")]++
		r, text = call(t, f, "list_files", map[string]any{"path": "swap", "pattern": "secret"})
		got["list "+outcome(r.Error, text)]++
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Skip("no exchange of names here: ", err)
	}
	unchanged(t, outside)
	if got["read escaped"] > 0 {
		t.Errorf("%d reads escaped", got["read escaped"])
	}
	t.Logf("escapes %d / %d tries, %d swaps: %v", got["read escaped"], 3*n, swaps, got)
	if !some() {
		t.Errorf("no race took place: %v", got)
	}
}

// unsynced is a disk that does not wait for the medium.
type unsynced struct{ disk.FS }

func (u unsynced) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ disk.File }

func (unsyncedFile) Sync() error { return nil }

func outcome(err, text string) string {
	switch {
	case strings.Contains(text, "SECRET"):
		return "escaped"
	case err == "":
		return "inside"
	case strings.Contains(err, "outside"), strings.Contains(err, "not a directory"), strings.Contains(err, "too many levels"):
		return "refused"
	case strings.Contains(err, "no such"):
		return "gone"
	}
	return err
}
