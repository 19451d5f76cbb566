package observation

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk fills a store on a disk of one megabyte.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := openStore(t, dir, Options{Codec: Raw})
	if err := fill(s, dir); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		checkEntry(t, s, e)
	}
	t.Logf("full with %d entries, all readable", len(list))
	if err := s.Close(); err != nil && os.Getenv("CI") == "" {
		t.Log(err)
	}
}
