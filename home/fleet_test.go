package home

import (
	"os"
	"testing"
	"time"

	"rouse/internal/disk"
)

// TestMark: the mark is in the version's file, which keeps its time; who reads the
// version does without it, and who would wake the home is refused.
func TestMark(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	then := time.Unix(1e9, 0)
	for _, err := range []error{os.MkdirAll(h.Memory(), 0o700), os.WriteFile(h.Rules(), []byte("x"), 0o600),
		os.WriteFile(h.VersionFile(), []byte("2\n"), 0o640), os.Chtimes(h.VersionFile(), then, then), h.Mark(disk.OS{}, "moon")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	in, err := Open(h.Dir)
	if version, _ := in.Version(); err != nil || version != 2 || in.Marked() != "moon" || in.Wakes() == nil {
		t.Errorf("%+v, version %d: %v", in, version, err)
	}
	if _, err := in.Lock(); err == nil {
		t.Error("locked")
	}
	if _, err := h.WakingVersion(); err == nil { // pushed since it was opened
		t.Error("woken")
	}
	if err := h.Mark(disk.OS{}, ""); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(h.VersionFile())
	info, _ := os.Stat(h.VersionFile())
	if string(text) != "2\n" || !info.ModTime().Equal(then) || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %v", text, info)
	}
}
