package disk_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"rouse/internal/disk"
)

// Who holds a lock is told without taking it, of a folder as of a file.
func TestHolder(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "lock"), t.TempDir()
	for name, take := range map[string]func() (func(), error){
		file: func() (func(), error) { return disk.Lock(t.Context(), file, 0) },
		dir:  func() (func(), error) { return disk.LockFolder(t.Context(), dir, time.Second) },
	} {
		if pid := disk.Holder(name); pid != 0 {
			t.Errorf("held by %d before it is taken", pid)
		}
		unlock, err := take()
		if err != nil {
			t.Fatal(err)
		}
		if pid := disk.Holder(name); pid != os.Getpid() {
			t.Errorf("held by %d, want %d", pid, os.Getpid())
		}
		unlock()
		if pid := disk.Holder(name); pid != 0 {
			t.Errorf("held by %d after it was given back", pid)
		}
	}
}
