package disktest

import (
	"os"
	"testing"

	"rouse/internal/disk"
)

// CountTemps counts the files beside "file", which must be temporary ones.
func CountTemps(t testing.TB, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Name() == "file" {
			continue
		}
		if !disk.IsTemp(e.Name()) {
			t.Errorf("%s is left, and not known as a temporary file", e.Name())
		}
		n++
	}
	return n
}
