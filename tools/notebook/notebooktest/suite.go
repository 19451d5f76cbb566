package notebooktest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"rouse/tools/notebook"
)

// Run runs the suite. Each test has a notebook of its own.
func Run(t *testing.T, rig Rig) {
	NeedPython(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, Rig)
	}{
		{"cells", cells}, {"values", values}, {"streams", outputs}, {"limits", limits}, {"progress", progress},
		{"interpreter dies", deaths}, {"cancel", cancels}, {"reset", resets}, {"variables", variables},
		{"model", models}, {"remove", removes}, {"large output", large}, {"flood", flood},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			part.run(t, rig)
		})
	}
}

// cells share globals, keep them after an error, and name cell and line.
func cells(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick()})()
	Want(t, Exec(t, r, "x = 20\ndef f(n):\n    return n / 0"), "")
	Want(t, Exec(t, r, "x + 1"), "21")
	c := ExecJob(t.Context(), t, r, notebook.Job{ID: "b", Number: 7, Code: "y = 1\nf(x)"})
	if c.Ended != notebook.Failed || !strings.Contains(c.Error, `File "<cell 7>", line 2`) ||
		!strings.Contains(c.Error, `File "<cell 1>", line 3, in f`) || !strings.HasSuffix(c.Error, "ZeroDivisionError: division by zero") {
		t.Errorf("ended %q: %s", c.Ended, c.Error)
	}
	if strings.Contains(c.Error, "rouse") {
		t.Errorf("frames of ours in the traceback: %s", c.Error)
	}
	Want(t, Exec(t, r, "y + x"), "21")
}

// values are shown as a notebook does.
func values(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick()})()
	for code, want := range map[string]string{
		"1+1":                  "2",
		"'a\\nb'":              `'a\nb'`,
		"None":                 "",
		"3;":                   "",
		"x = 3":                "",
		"for i in range(3): i": "",
		"import asyncio\nawait asyncio.sleep(0, 'done')": "'done'",
		"":                           "",
		"# nothing":                  "",
		"__name__":                   "'__main__'",
		"'\\ud800'":                  `'\ud800'`,
		"sample([1,2,3])":            "list, 3 items\n  1\n  2\n  3",
		"import sys; sys.exit()":     "",
		"print('é', end=''); '✓'":    "'✓'",
		"input.__name__ and 'still'": "'still'",
	} {
		Want(t, Exec(t, r, code), want)
	}
	for code, want := range map[string]string{
		"def":                      "SyntaxError",
		"input()":                  "EOFError",
		"import sys; sys.exit(3)":  "SystemExit: 3",
		"raise BaseException('b')": "BaseException: b",
		"class E(Exception):\n    def __str__(self): raise ValueError\nraise E": "E",
	} {
		if c := Exec(t, r, code); c.Ended != notebook.Failed || !strings.Contains(c.Error, want) {
			t.Errorf("%s: ended %q: %s", code, c.Ended, c.Error)
		}
	}
	c := Exec(t, r, "class P:\n  def _repr_png_(self): return b'\\x89PNG'\n  def __repr__(self): return 'a picture'\nP()")
	Want(t, c, "a picture")
	if len(c.Media) != 1 || c.Media[0].Type != "image/png" || string(c.Media[0].Data) != "\x89PNG" {
		t.Errorf("media: %+v", c.Media)
	}
}

// outputs are complete, each in its stream, whoever writes them.
func outputs(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick()})()
	c := Exec(t, r, `
import os, subprocess, sys
print("one")
os.write(1, b"two\n")
subprocess.run(["sh", "-c", "echo three; echo four >&2"])
print("five", file=sys.stderr)
os.write(1, b"\xff\x00six")
print("seven", end="")
`)
	Want(t, c, "")
	if c.Stdout != "one\ntwo\nthree\n\xff\x00sixseven" || c.Stderr != "four\nfive\n" {
		t.Errorf("stdout %q, stderr %q", c.Stdout, c.Stderr)
	}
}

// limits end a cell that goes on, say why and keep what it printed; the next
// one runs in a fresh process and is told.
func limits(t *testing.T, rig Rig) {
	idle := rig(t, Options{Limits: notebook.Limits{Default: time.Minute, Idle: 400 * time.Millisecond, Floor: time.Minute}})()
	over := rig(t, Options{Limits: notebook.Limits{Default: time.Second, Idle: time.Minute, Floor: time.Second}})()
	const silent, late = "Cell killed: no output for 0.4 s", "Cell timed out after 1 s"
	for _, row := range []struct {
		name, code, error string
		r                 notebook.Runtime
	}{
		{"idle", "import time\nprint('before')\ntime.sleep(1000)", silent, idle},
		{"endless output", "import time\nprint('before')\nwhile True:\n    print('.', end='', flush=True); time.sleep(.01)", late, over},
		{"endless progress", "import time\nprint('before')\nwhile True:\n    progress('x'); time.sleep(.01)", late, over},
		{"ignores signals", "import signal, time\nfor s in (2, 15):\n    signal.signal(s, signal.SIG_IGN)\nprint('before')\ntime.sleep(1000)", silent, idle},
		{"swallows interrupts", "print('before')\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass", silent, idle},
	} {
		Exec(t, row.r, "kept = 1")
		c := Exec(t, row.r, row.code)
		if !strings.HasPrefix(c.Error, row.error) || !strings.HasPrefix(c.Stdout, "before\n") || !c.Lost {
			t.Errorf("%s: error %q, stdout %.20q, lost %v", row.name, c.Error, c.Stdout, c.Lost)
		}
		c = Exec(t, row.r, "'kept' in globals()")
		Want(t, c, "False")
		if !c.Note("state lost") {
			t.Errorf("%s: notes %q", row.name, c.Notes)
		}
		if c := Exec(t, row.r, "1"); c.Note("state lost") {
			t.Errorf("%s: told twice: %q", row.name, c.Notes)
		}
	}
}

// progress keeps a cell from being idle, and an estimate gives it more time.
func progress(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: notebook.Limits{Default: 300 * time.Millisecond, Idle: 500 * time.Millisecond, Floor: 100 * time.Millisecond}})()
	c := ExecJob(t.Context(), t, r, notebook.Job{ID: "p", Number: 1, Estimate: 5 * time.Second,
		Code: "import time\nfor i in range(10):\n    progress(i)\n    time.sleep(.1)\n'end'"})
	Want(t, c, "'end'")
	if c.Log != "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n" {
		t.Errorf("log %q", c.Log)
	}
}

// deaths of the interpreter are named, and the next cell runs.
func deaths(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick()})()
	for code, want := range map[string]string{
		"print('x'); import os; os._exit(3)":                     "exit code 3",
		"print('x'); import os, signal; os.kill(os.getpid(), 9)": "SIGKILL",
		"print('x'); import ctypes; ctypes.string_at(0)":         "SIGSEGV",
		"print('x'); import os; os.closerange(3, 1024)":          "the interpreter ended",
	} {
		c := Exec(t, r, code)
		if c.Ended != notebook.Died || !c.Lost || !strings.Contains(c.Error, want) || c.Stdout != "x\n" {
			t.Errorf("%s: ended %q, stdout %q: %s", code, c.Ended, c.Stdout, c.Error)
		}
		if c = Exec(t, r, "1+1"); c.Value != "2" || !c.Note("state lost") {
			t.Errorf("then value %q, notes %q", c.Value, c.Notes)
		}
	}
}

// cancels interrupt: a cell that heeds it keeps its state.
func cancels(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick()})()
	for _, row := range []struct {
		code string
		lost bool
	}{
		{"import time\nz = 5\nprint('now', flush=True)\ntime.sleep(1000)", false},
		{"import time\nwhile True:\n    try: print('now'); time.sleep(1000)\n    except KeyboardInterrupt: pass", true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		out, err := r.Execute(ctx, notebook.Job{ID: "c", Number: 1, Code: row.code}, func(e notebook.Event) { cancel() })
		cancel()
		if err != nil || out.Ended != notebook.Canceled || out.Lost != row.lost {
			t.Errorf("ended %q, lost %v: %v", out.Ended, out.Lost, err)
		}
		if !row.lost {
			Want(t, Exec(t, r, "z"), "5")
		}
	}
	out, err := r.Execute(t.Context(), notebook.Job{ID: "d", Number: 1, Code: "import time; print('now'); time.sleep(1000)"}, func(notebook.Event) { r.Cancel() })
	if err != nil || out.Ended != notebook.Canceled {
		t.Errorf("ended %q: %v", out.Ended, err)
	}
	r.Cancel() // nothing runs
	Want(t, Exec(t, r, "1+1"), "2")
}

// resets forget variables, saved ones too.
func resets(t *testing.T, rig Rig) {
	opened := rig(t, Options{Limits: Quick()})
	r := opened()
	Exec(t, r, "a = 1")
	for i := range 2 {
		if err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := Exec(t, r, "b = 2; 'a' in globals()")
		Want(t, c, "False")
		if len(c.Notes) > 0 {
			t.Errorf("reset %d: notes %q", i, c.Notes)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// variables survive a close, each by itself.
func variables(t *testing.T, rig Rig) {
	opened := rig(t, Options{Limits: Quick()})
	r := opened()
	Want(t, Exec(t, r, `
import math, threading
n, text, many = 7, "é", {"a": [1, 2]}
lock, file, gen = threading.Lock(), open("/dev/null"), (i for i in ())
def progress(x): return "mine"
class Bad:
    def __reduce__(self): raise RuntimeError("no")
bad = Bad()
huge = bytes(101_000_000)
`), "")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r = opened()
	c := Exec(t, r, "(n, text, many, callable(install), math.floor(2.5), threading.Lock.__name__ != '', [v for v in ('lock', 'file', 'gen', 'bad', 'huge') if v in globals()])")
	Want(t, c, "(7, 'é', {'a': [1, 2]}, True, 2, True, [])")
	for _, note := range []string{"restored", "n, text, many", "lock (", "file (it holds an open file)", "bad (RuntimeError: no)", "huge (too large", "imported again: math, threading"} {
		if !c.Note(note) {
			t.Errorf("no note of %q in %q", note, c.Notes)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.Close(ended) // no time to save: what was saved stays
	Want(t, Exec(t, opened(), "n"), "7")
}

// models are asked over the bridge.
func models(t *testing.T, rig Rig) {
	model := &Model{}
	r := rig(t, Options{Limits: Quick(), LLM: model.Ask})()
	Want(t, Exec(t, r, "a = get_llm().complete(system='be kind', messages='hello'); (str(a), a.input_tokens, a.output_tokens)"), "('echo: hello', 3, 4)")
	Want(t, Exec(t, r, "import asyncio\nl = get_llm()\nlist(map(str, await asyncio.gather(*[l.complete_async(messages=str(i)) for i in range(20)])))[-1]"), "'echo: 19'")
	if p := model.Asked()[0]; p.System != "be kind" || len(p.Messages) != 1 || p.Messages[0].Role != "user" || p.Messages[0].Content != "hello" {
		t.Errorf("asked %+v", p)
	}
	if c := Exec(t, r, "web_search('x')"); !strings.Contains(c.Error, "not set up") {
		t.Errorf("search: %s", c.Error)
	}
	model.Answer = func(notebook.Prompt) (notebook.Completion, error) {
		return notebook.Completion{}, fmt.Errorf("budget is used up")
	}
	if c := Exec(t, r, "get_llm().complete(messages='x')"); !strings.HasSuffix(c.Error, "RuntimeError: budget is used up") || strings.Contains(c.Error, "llm.py") {
		t.Errorf("error: %s", c.Error)
	}
	objects(t, r, model)
	loops(t, r, model)
}

func objects(t *testing.T, r notebook.Runtime, model *Model) {
	turn := 0
	model.Answer = func(p notebook.Prompt) (notebook.Completion, error) {
		if turn++; p.Force != "Town" || len(p.Tools) != 1 {
			t.Errorf("asked %+v", p)
		}
		return Called("Town", []any{map[string]any{"name": 3}, map[string]any{"name": "Ulm", "size": 120000, "tags": []string{"a"}}}[turn-1]), nil
	}
	Want(t, Exec(t, r, `
from dataclasses import dataclass
from typing import List, Optional
@dataclass
class Town:
    name: str
    size: int
    tags: List[str]
    mayor: Optional[str] = None
get_llm().generate_object(Town, messages="which?")
`), "Town(name='Ulm', size=120000, tags=['a'], mayor=None)")
	if asked := model.Asked(); !strings.Contains(asked[len(asked)-1].Messages[2].Content, "value lacks 'size'") &&
		!strings.Contains(asked[len(asked)-1].Messages[2].Content, "must be") {
		t.Errorf("the retry said %+v", asked[len(asked)-1].Messages)
	}
	model.Answer = func(notebook.Prompt) (notebook.Completion, error) {
		return Called("answer", map[string]any{"value": "x"}), nil
	}
	if c := Exec(t, r, "get_llm().generate_object({'type': 'integer'}, messages='n')"); !strings.Contains(c.Error, "ValueError: the model gave no valid answer: value.value must be integer, not str") {
		t.Errorf("error: %s", c.Error)
	}
}

func loops(t *testing.T, r notebook.Runtime, model *Model) {
	turn := 0
	model.Answer = func(p notebook.Prompt) (notebook.Completion, error) {
		if turn++; turn == 1 {
			return Called("add", map[string]any{"a": 2, "b": 3}), nil
		}
		return notebook.Completion{Text: "sum " + p.Messages[len(p.Messages)-1].Content}, nil
	}
	Want(t, Exec(t, r, "def add(a: int, b: int):\n    'Adds.'\n    return a + b\nagentic_loop('add', [add])"), "'sum 5'")
}

// removes destroy; the notebook can be made anew.
func removes(t *testing.T, rig Rig) {
	opened := rig(t, Options{Limits: Quick()})
	r := opened()
	Exec(t, r, "a = 1")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Errorf("twice: %v", err)
	}
}

// large output arrives whole.
func large(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick()})()
	c := Exec(t, r, "for i in range(50000): print('0123456789' * 2)")
	Want(t, c, "")
	if len(c.Stdout) != 50000*21 || strings.Count(c.Stdout, "\n") != 50000 {
		t.Errorf("%d bytes", len(c.Stdout))
	}
	c = Exec(t, r, "'x' * 3_000_000")
	if c.Ended != notebook.OK || len(c.Value) > 1_100_000 || !strings.Contains(c.Value, "more characters") {
		t.Errorf("ended %q, %d characters", c.Ended, len(c.Value))
	}
	var log bytes.Buffer
	if err := r.Install(t.Context(), []string{"--index-url=x"}, &log); err == nil {
		t.Error("an option passed for a package")
	}
}

// flood is ended, not stored.
func flood(t *testing.T, rig Rig) {
	r := rig(t, Options{Limits: Quick(), MaxOutput: 1 << 20})()
	c := Exec(t, r, "import os\nwhile True: os.write(2, b'x' * 65536)")
	if c.Ended != notebook.Flooded || len(c.Stderr) != 1<<20 || !c.Lost {
		t.Errorf("ended %q, %d bytes, lost %v", c.Ended, len(c.Stderr), c.Lost)
	}
	if c = Exec(t, r, "1"); !c.Note("state lost") {
		t.Errorf("notes %q", c.Notes)
	}
}
