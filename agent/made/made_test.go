package made

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
)

// A home at rest writes nothing new, and what a loss of power left of a copy is
// never taken for it.
func TestCopiesLieThereOnce(t *testing.T) {
	d := &disktest.Faulty{}
	c := Copies{Dir: filepath.Join(t.TempDir(), "made"), Disk: d}
	text := []byte("Be brief.\n")
	if err := c.Keep(string(text)); err != nil {
		t.Fatal(err)
	}
	first := d.Ops()
	if err := c.Keep(string(text), string(text)); err != nil || len(d.Ops()) != len(first) {
		t.Errorf("kept again: %v, %v", d.Ops()[len(first):], err)
	}
	path := filepath.Join(c.Dir, Sum(text))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if got, err := c.Read(Sum(text)); err != nil || string(got) != string(text) {
		t.Errorf("%q %v", got, err)
	}
	for _, left := range []string{"", "Be b", "Be BRIEF.\n"} {
		if err := os.WriteFile(path, []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(Sum(text)); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %v", left, err)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(string(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(Sum(text)); err != nil {
		t.Error(err)
	}
}

func TestCopiesThatAreGone(t *testing.T) {
	c := Copies{Dir: t.TempDir()}
	for name, want := range map[string]string{Sum(nil): "is gone", "../../secret": "not the name of a copy", "": "not the name"} {
		if _, err := c.Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := c.Keep("a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "note.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old, err := c.Old(time.Now().Add(time.Hour))
	if err != nil || len(old) != 2 {
		t.Errorf("%v %v", old, err)
	}
	if n, err := c.Remove(old...); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}
