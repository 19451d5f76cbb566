package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
	"rouse/tools/notebook"
	nt "rouse/tools/notebook/notebooktest"
)

// closed runs a cell in a new notebook and closes it.
func closed(t *testing.T, c Config, code string) *Runtime {
	t.Helper()
	r := open(t, c)
	if x := nt.Exec(t, r, code); x.Ended != notebook.OK {
		t.Fatalf("%s\n%s", x.Error, x.Stderr)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOddVariables: what cannot be saved or restored loses only itself, and does
// not take for ever.
func TestOddVariables(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Env, c.Secret = []string{"DS_PG__PASSWORD=correct horse battery"}, []string{"DS_PG__PASSWORD"}
	c.SaveTimeout = 4 * time.Second
	r := closed(t, c, `
import os, collections
before, after = 1, 2
class Slow:
    def __reduce__(self):
        while True: pass
class Later:
    def __reduce__(self): return (exec, ("raise ValueError('not now')",))
class Deep:
    def __reduce__(self): raise KeyboardInterrupt
deep = []
for _ in range(100000): deep = [deep]
later, ordered, pair = Later(), collections.OrderedDict(a=1), (1, 2)
password = {"p": os.environ["DS_PG__PASSWORD"]}
holder = {"f": open(os.devnull)}
deepest = Deep()
progress_kept = progress
slow = Slow()
globals()["a b\n"] = 3
`)
	b, err := os.ReadFile(r.path(variablesName))
	if err != nil || strings.Contains(string(b), "correct horse") {
		t.Errorf("the file holds the password, or is none: %v", err)
	}
	x := nt.Exec(t, r, "(before, after, ordered['a'], pair, globals()['a b\\n'])")
	nt.Want(t, x, "(1, 2, 1, (1, 2), 3)")
	if x.Note("progress") {
		t.Errorf("a helper under another name: %q", x.Notes)
	}
	for _, note := range []string{"later (ValueError: not now)", "password (it holds a credential)", "holder (it holds an open file)", "deep (", "deepest (KeyboardInterrupt)", "slow (it took too long)"} {
		if !x.Note(note) {
			t.Errorf("no note of %q in %q", note, x.Notes)
		}
	}
}

// TestImports: what import statements bound is imported again, whatever it is and
// as often as the notebook is closed; what stands for something else by now is not.
func TestImports(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.SaveTimeout = 8 * time.Second
	if err := os.WriteFile(filepath.Join(c.Workspace, "mine.py"), []byte("import threading\nlock = threading.Lock()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Workspace, "gone.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := closed(t, c, `
import math, os.path as p, xml.dom, xml.etree.ElementTree, gone
import json as j
from mine import lock as guard
from string import *
from os import environ
try:
    import nosuch
except ImportError:
    from sys import stdout as out
def f():
    import csv
from math import pi
pi = 3
os = 7
`)
	if err := os.Remove(filepath.Join(c.Workspace, "gone.py")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		x := nt.Exec(t, r, "import sys as s\n(math.floor(2.5), p.sep, xml.dom.__name__, xml.etree.ElementTree.__name__, j.dumps(1), guard is s.modules['mine'].lock, digits, environ is s.modules['os'].environ, out.name != '', pi, os, 'csv' in globals())")
		nt.Want(t, x, "(2, '/', 'xml.dom', 'xml.etree.ElementTree', '1', True, '0123456789', True, True, 3, 7, False)")
		if !x.Note("imported again: math, p, xml, ") || x.Note("again: gone") || x.Note("import math again") {
			t.Errorf("notes %q", x.Notes)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedVariables: a file that is cut, changed or poisonous costs what is
// in it, not the notebook.
func TestDamagedVariables(t *testing.T) {
	t.Parallel()
	r := closed(t, config(t), "class P:\n    def __reduce__(self):\n        import os; return (os._exit, (7,))\na = 1\nb = 'x' * 1000\np = 2")
	good, err := os.ReadFile(r.path(variablesName))
	if err != nil {
		t.Fatal(err)
	}
	poison := closed(t, config(t), "import os\nclass P:\n    def __reduce__(self): return (os._exit, (7,))\na = P()")
	bad, err := os.ReadFile(poison.path(variablesName))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, data, note string
		a                string
	}{
		{"cut", string(good[:len(good)/2]), "damaged", "1"},
		{"empty", "", "damaged", "None"},
		{"something else", strings.Repeat("\x00\xff", 1000), "damaged", "None"},
		{"kills the interpreter", string(bad), "could not be restored: start notebook: the environment does not work: the interpreter ended: exit code 7", "None"},
	} {
		if err := os.WriteFile(r.path(variablesName), []byte(row.data), 0o600); err != nil {
			t.Fatal(err)
		}
		x := nt.Exec(t, r, "globals().get('a')")
		if x.Value = strings.TrimSpace(x.Value); x.Value == "" {
			x.Value = "None"
		}
		if x.Value != row.a || !x.Note(row.note) {
			t.Errorf("%s: value %q, notes %q: %s", row.name, x.Value, x.Notes, x.Error)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFunctions: with cloudpickle, functions and classes of the notebook survive,
// and work on its globals as before.
func TestFunctions(t *testing.T) {
	t.Parallel()
	r := open(t, config(t))
	if nt.Exec(t, r, "import cloudpickle").Ended != notebook.OK {
		t.Skip("cloudpickle is not installed for python3")
	}
	nt.Want(t, nt.Exec(t, r, `
import math
count = 1
class Point:
    def __init__(self, x): self.x = x
def area(r, *, k=2): return math.pi * r * k + count
def twice(x): return area(x) * 2
p, f = Point(4), open("/dev/null")
def reads(): return f
`), "")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := nt.Exec(t, r, "count = 5\n(round(twice(1)), Point(3).x + p.x, isinstance(p, Point))")
	nt.Want(t, x, "(23, 7, True)")
	if !x.Note("f (it holds an open file)") || !x.Note("reads (it holds an open file)") {
		t.Errorf("notes %q", x.Notes)
	}
}

// TestSaveFaults: whatever fails while variables are saved, what was saved before
// is whole, and a failure is reported.
func TestSaveFaults(t *testing.T) {
	t.Parallel()
	r := closed(t, config(t), "a = 'old'")
	old, err := os.ReadFile(r.path(variablesName))
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; ; at++ {
		if err := os.WriteFile(r.path(variablesName), old, 0o600); err != nil {
			t.Fatal(err)
		}
		nt.Exec(t, r, "a = 'new'")
		faulty := &disktest.Faulty{Fault: disktest.Fault{At: at, Mode: disktest.Before, Err: syscall.EIO}}
		r.c.FS, faulty.FS = faulty, r.c.FS
		err := r.Close(t.Context())
		r.c.FS = faulty.FS
		if len(faulty.Fired()) == 0 {
			if at < 4 {
				t.Errorf("only %d operations", at-1)
			}
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%v: reported as %v", faulty.Fired(), err)
		}
		if x := nt.Exec(t, r, "a"); x.Value != "'old'" && x.Value != "'new'" {
			t.Errorf("%v: a is %q, notes %q", faulty.Fired(), x.Value, x.Notes)
		}
	}
}

// TestNotRestoredTwice: a notebook that lost its state does not fall back to an
// older one in the same cycle, but the next cycle has it.
func TestNotRestoredTwice(t *testing.T) {
	r := closed(t, config(t), "a = 1")
	nt.Want(t, nt.Exec(t, r, "a"), "1")
	nt.Exec(t, r, "import os; os._exit(1)")
	x := nt.Exec(t, r, "'a' in globals()")
	nt.Want(t, x, "False")
	if !x.Note("state lost") || x.Note("restored") {
		t.Errorf("notes %q", x.Notes)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.Close(ended)
	nt.Want(t, nt.Exec(t, r, "a"), "1")
	if names, _ := filepath.Glob(r.path("*.tried")); len(names) > 0 {
		t.Errorf("left %v", names)
	}
}
