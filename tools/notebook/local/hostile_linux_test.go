package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/tools/notebook"
	nt "rouse/tools/notebook/notebooktest"
)

// forge writes every message that our process could send, in every way that a
// cell has without searching the memory of its process.
const forge = `
import os, sys
m = b'\n{"is":"done","nonce":"","value":"forged"}\n{"is":"done","value":"forged"}\n{"is":"saved"}\n{"is":"ready"}\n{"nonce":"","id":1,"do":"install","args":{"packages":["x"]}}\n{"is":'
print(m.decode(), flush=True)
print(m.decode(), file=sys.stderr, flush=True)
for fd in range(3, 1024):
    try: os.write(fd, m)
    except OSError: pass
`

// TestHostile: whatever a cell does, it forges nothing, it ends in time, the
// notebook can be used again, and nothing of it is left in the end.
func TestHostile(t *testing.T) {
	t.Parallel()
	const idle, floor = 500 * time.Millisecond, 3 * time.Second
	mark := fmt.Sprintf("1000%d", os.Getpid()) // of a sleep
	c := config(t)
	c.MaxOutput = 8 << 20
	r := open(t, c)
	var worst, usable time.Duration
	for _, row := range []struct {
		name, code string
		end        notebook.End
		value      string
	}{
		{"prints every message", forge + "'mine'", notebook.OK, "'mine'"},
		{"prints and fails", forge + "1/0", notebook.Failed, ""},
		{"prints and goes on", forge + "import time\ntime.sleep(1000)", notebook.Idle, ""},
		{"forks", "import os\npid = os.fork()\n'once'", notebook.OK, "'once'"},
		{"forks and forges", "import os\nif not os.fork():\n" + strings.ReplaceAll(forge, "\n", "\n    ") + "\n1", notebook.OK, "1"},
		{"child fails", "import os\nif os.fork() == 0: raise ValueError\n2", notebook.OK, "2"},
		{"child goes on", "import os, time\nif os.fork() == 0: time.sleep(1000)\n3", notebook.OK, "3"},
		{"uses a pool", "import multiprocessing as mp\ndef sq(x): return x * x\nwith mp.get_context('fork').Pool(2) as p: r = p.map(sq, range(3))\nr", notebook.OK, "[0, 1, 4]"},
		{"rebinds helpers", "progress = install = get_llm = sample = None; 4", notebook.OK, "4"},
		{"rebinds what we use", "import json, os, sys, linecache, ast\njson.dumps = json.loads = os.write = os.read = os._exit = os.getpid = ast.parse = linecache.cache = None\nsys.stdout = sys.stderr = None\n5", notebook.OK, "5"},
		{"then works", "print('x'); 6", notebook.OK, "6"},
		{"empties builtins", "import builtins\nbuiltins.__dict__.clear()", notebook.Died, ""},
		{"empties globals", "globals().clear()", notebook.OK, ""},
		{"empties modules", "import sys\nsys.modules.clear()", notebook.OK, ""},
		{"kills itself", "__import__('posix')._exit(0)", notebook.Died, ""},
		{"traces", "import sys, threading\nsys.settrace(lambda *a: 1/0); threading.settrace(lambda *a: 1/0)", notebook.Failed, ""},
		{"closes stdout", "import os, sys\nsys.stdout.close(); os.close(1); os.close(2)", notebook.OK, ""},
		{"prints after that", "print('back')\n'y'", notebook.OK, "'y'"},
		{"closes all", "import os; os.closerange(0, 1024)", notebook.Died, ""},
		{"turns all into null", "import os\nn = os.open('/dev/null', 2)\nfor i in range(3, 300):\n    if i != n: os.dup2(n, i)", notebook.Died, ""},
		{"reads all", "import os\nfor i in range(3, 300):\n    try: os.read(i, 100)\n    except OSError: pass", notebook.Idle, ""},
		{"unblocks all", "import os\nfor i in range(3, 300):\n    try: os.set_blocking(i, False)\n    except OSError: pass\n7", notebook.OK, "7"},
		{"kills its group", "import os; os.killpg(0, 9)", notebook.Died, ""},
		{"stops itself", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", notebook.Idle, ""},
		{"blocks signals", "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(1000)", notebook.Idle, ""},
		{"hangs outside Python", "import ctypes; ctypes.PyDLL(None).sleep(1000)", notebook.Idle, ""},
		{"reads stdin", "import sys; sys.stdin.read()", notebook.OK, "''"},
		{"needs a terminal", "open('/dev/tty')", notebook.Failed, ""},
		{"leaves a daemon", "import subprocess; subprocess.Popen(['setsid', 'sleep', '" + mark + "']); 8", notebook.OK, "8"},
		{"leaves a daemon in a clean environment", "import subprocess; subprocess.Popen(['setsid', 'sleep', '" + mark + "'], env={}, close_fds=False); 9", notebook.OK, "9"},
		{"waits for a daemon", "import subprocess; subprocess.run(['setsid', 'sleep', '" + mark + "'])", notebook.Idle, ""},
		{"a thread prints for ever", "import threading\ndef f():\n    while True: print('x' * 1000)\nthreading.Thread(target=f).start()\n10", notebook.OK, "10"},
		{"and is still there", "11", notebook.OK, "11"},
		{"floods", "import os\nwhile True: os.write(1, b'\\n' * 65536)", notebook.Flooded, ""},
		{"forks for ever", "import os, time\nfor _ in range(8): os.fork()\ntime.sleep(1000)", notebook.Idle, ""},
		{"recurses", "def f(): f()\nf()", notebook.Failed, ""},
		{"deletes its folder", "import os, shutil\nshutil.rmtree(os.getcwd())\n12", notebook.OK, "12"},
		{"works in it again", "open('f', 'w').close()\nimport os; os.listdir()", notebook.OK, "['f']"},
		{"interrupts itself", "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)", notebook.Failed, ""},
		{"raises interrupts", "raise KeyboardInterrupt", notebook.Failed, ""},
		{"exits in a thread", "import threading, sys\nthreading.Thread(target=sys.exit).start(); 13", notebook.OK, "13"},
		{"binary and escapes", "import os; os.write(1, b'\\x00\\xff\\x1b]0;t\\x07'); 14", notebook.OK, "14"},
		{"shows what raises", "class A:\n    def __repr__(self): raise ValueError('no')\nA()", notebook.Failed, ""},
		{"shows what never ends", "class A:\n    def __repr__(self):\n        while True: pass\nA()", notebook.Idle, ""},
	} {
		r.c.Limits = nt.Quick() // which a busy machine keeps too
		if row.end == notebook.Idle {
			r.c.Limits = notebook.Limits{Default: floor, Idle: idle, Floor: floor}
		}
		begun := time.Now()
		got := nt.Exec(t, r, row.code)
		r.c.Limits = nt.Quick()
		took := time.Since(begun)
		if got.Ended != row.end || row.value != "" && got.Value != row.value || strings.Contains(got.Value+got.Log, "forged") {
			t.Errorf("%s: ended %q, value %q: %.300s", row.name, got.Ended, got.Value, got.Error)
		}
		if got.Ended == notebook.TimedOut || got.Ended == notebook.Idle {
			limit := floor
			if got.Ended == notebook.Idle {
				limit = idle
			}
			worst = max(worst, took-limit)
			if took > floor+2*time.Second {
				t.Errorf("%s: took %v", row.name, took)
			}
		}
		if got.Lost {
			begun = time.Now()
			if next := nt.Exec(t, r, "1+1"); next.Value != "2" || !next.Note("state lost") {
				t.Errorf("%s: then value %q, notes %q: %s", row.name, next.Value, next.Notes, next.Error)
			}
			usable = max(usable, time.Since(begun))
		}
	}
	if err := r.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := sleeping(mark); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Logf("worst over-run %v, usable again after at most %v", worst.Round(time.Millisecond), usable.Round(time.Millisecond))
}

// sleeping are the processes that sleep for that long.
func sleeping(mark string) []string {
	var list []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), mark) {
			list = append(list, f)
		}
	}
	return list
}

// TestMemory: a cell that wants more than it may have gets a MemoryError, and
// its notebook goes on; the limit holds for its children too.
func TestMemory(t *testing.T) {
	c := config(t)
	c.Memory = 700 << 20
	r := open(t, c)
	got := nt.Exec(t, r, "a = 1\nb = bytearray(2 << 30)")
	if got.Ended != notebook.Failed || !strings.HasSuffix(got.Error, "MemoryError") {
		t.Errorf("ended %q: %s", got.Ended, got.Error)
	}
	got = nt.Exec(t, r, "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'bytearray(2 << 30)'], stderr=-1).returncode, a")
	nt.Want(t, got, "(1, 1)")
	// Where a limit cannot be had, nothing runs without it.
	if err := os.WriteFile(filepath.Join(c.Workspace, "resource.py"), []byte("raise ImportError('none here')"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Env = []string{"PYTHONPATH=" + c.Workspace}
	r = open(t, c)
	if _, err := r.Execute(t.Context(), notebook.Job{Code: "1"}, func(notebook.Event) {}); err == nil || !strings.Contains(err.Error(), "memory limit: none here") {
		t.Errorf("it runs: %v", err)
	}
}

// TestNotStarted: a process that does not start, as where it has too little
// memory, costs no environment whose Python runs.
func TestNotStarted(t *testing.T) {
	c := config(t)
	if err := os.WriteFile(filepath.Join(c.Workspace, "resource.py"), []byte("import os\nos._exit(9)"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Memory, c.Env = 1<<30, []string{"PYTHONPATH=" + c.Workspace}
	r := open(t, c)
	if _, err := r.Execute(t.Context(), notebook.Job{Code: "1"}, func(notebook.Event) {}); err == nil || !strings.Contains(err.Error(), "exit code 9") {
		t.Errorf("it runs: %v", err)
	}
	if _, err := os.Readlink(r.path(venvName)); err != nil {
		t.Errorf("the environment was made anew: %v", err)
	}
}

// TestClean: a process sees nothing of ours but what it was given.
func TestClean(t *testing.T) {
	t.Setenv("HOSTILE_API_KEY", "x")
	c := config(t)
	c.Env = []string{"DS_PG__HOST=db"}
	r := open(t, c)
	got := nt.Exec(t, r, `
import os, subprocess
fds = subprocess.run(["sh", "-c", "ls /proc/self/fd | wc -l"], capture_output=True, text=True).stdout.strip()
(os.environ.get("HOSTILE_API_KEY"), os.environ["DS_PG__HOST"], fds, os.getcwd() == os.environ["PWD"], os.getsid(0) == os.getpid(), os.read(0, 1))`)
	nt.Want(t, got, "(None, 'db', '4', True, True, b'')")
}
