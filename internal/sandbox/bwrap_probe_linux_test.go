package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// The key stays as long as what it is of.
func TestKey(t *testing.T) {
	program := t.TempDir() + "/bwrap"
	if Key(program) != "" {
		t.Error("there is a key of nothing")
	}
	if err := os.WriteFile(program, []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := Key(program)
	if first == "" || Key(program) != first {
		t.Errorf("got %q", first)
	}
	if err := os.Chtimes(program, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if Key(program) == first {
		t.Error("another program has the same key")
	}
}

// A probe says what is in the way in the words of the one who can mend it.
func TestProbe(t *testing.T) {
	s := System{Tracing: true}
	for said, want := range map[string]string{
		"":                                 "",
		"bwrap: Unknown option --clearenv": "bubblewrap is too old",
		"bwrap: Can't mount proc on /newroot/proc: Operation not permitted": "no /proc can be mounted here",
		"bwrap: No permissions to create new namespace":                     "forbidden here",
		"fork/exec /x: no such file":                                        "bubblewrap does not work here: fork/exec /x: no such file",
	} {
		got := Probe("/x", s, func(b *Box) error {
			if b.system.Bubblewrap != "/x" {
				t.Errorf("tried %+v", b.system)
			}
			if said == "" {
				return nil
			}
			return errors.New(said)
		})
		if !strings.Contains(got, want) || (got == "") != (said == "") {
			t.Errorf("%s: got %q", said, got)
		}
	}
	for path, s := range map[string]System{"": {Tracing: true}, "/x": {}} {
		if Probe(path, s, func(*Box) error { return nil }) == "" {
			t.Errorf("%q, %+v works", path, s)
		}
	}
}
