package local

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/tools/notebook"
	nt "rouse/tools/notebook/notebooktest"
)

// TestMagics: what people type in notebooks does what they mean by it.
func TestMagics(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Env, c.Secret = []string{"DS_PG__PASSWORD=correct horse"}, []string{"DS_PG__PASSWORD"}
	r := open(t, c)
	nt.Exec(t, r, "import os\nos.makedirs('data/deep', exist_ok=True)\nopen('a b.txt', 'w').write('one\\ntwo\\n')\nclass P:\n  def _repr_png_(self): return b'\\x89PNG'\nword, n = 'it''s', 3")
	for _, row := range []struct{ code, value, stdout, stderr string }{
		{"%matplotlib inline\n1", "1", "", ""},
		{"%config InlineBackend.figure_format = 'retina'\n2", "2", "", ""},
		{"%load_ext autoreload\n%autoreload 2", "", "", "[%load_ext does nothing here]\n[%autoreload does nothing here]\n"},
		{"!echo hello", "", "hello\n", ""},
		{"!echo hello >&2; exit 3", "", "", "hello\n[exit code 3]\n"},
		{"!!echo hello", "['hello']", "", ""},
		{"x = !cat 'a b.txt'; echo three\nx", "['one', 'two', 'three']", "", ""},
		{"x.n, x.s, x[-1]", `('one\ntwo\nthree', 'one two three', 'three')`, "", ""},
		{"!echo {n + 1} {n}{{n}} $n $$ ${n}x $HOMELESS {print $1} {nosuch} {len} {1,2} | sed 's/ [0-9]* / /2'", "", "4 3{n} ", ""},
		{"for word in ['a', 'b']:\n    !echo {word} \\\n      again", "", "a again\nb again\n", ""},
		{"def f(inner):\n    got = !echo $inner\n    return got[0]\nf('local')", "'local'", "", ""},
		{"%cd data\n!basename $(pwd)", "", "data\n", ""},
		{"os.path.basename(os.getcwd())", "'data'", "", ""},
		{"%cd deep\n%cd -\n%pwd", "/data'", "deep\n", ""},
		{"%cd\nos.path.exists('a b.txt')", "True", "", ""},
		{"%env GREETING=hello $n\nos.environ['GREETING']", "'hello 3'", "env: GREETING=hello 3", ""},
		{"x = %env GREETING\nx", "'hello 3'", "", ""},
		{"%env DS_PG__PASSWORD", "'correct horse'", "", ""},
		{"x = %env\nx['DS_PG__PASSWORD'], x['GREETING']", "('<hidden>', 'hello 3')", "", ""},
		{"%time y = n * 2\ny", "6", "wall time: ", ""},
		{"%time n * 2", "6", "wall time: ", ""},
		{"%time n * 2;", "", "wall time: ", ""},
		{"import asyncio\nx = %time await asyncio.sleep(0, 'done')\nx", "'done'", "wall time: ", ""},
		{"%%time\n\ny = 7\ny", "7", "wall time: ", ""},
		{"%timeit -n 2 -r 3 sum(range(n))", "", "per loop, best of 3 times 2", ""},
		{"%%timeit -n 2 -r 3 x = n\nx + 1\nx + 2", "", "per loop, best of 3 times 2", ""},
		{"# the shell\n\n%%bash\nfor i in 1 2; do\n  echo $i {n} 100%\ndone", "", "1 {n} 100%\n2 {n} 100%\n", ""},
		{"%%bash -s one\necho $1", "", "", ""},
		{"%%sh\necho from sh", "", "from sh\n", ""},
		{"%%python\nimport sys; print(sys.argv[0], 'n' in globals())", "", "-c False\n", ""},
		{"%%writefile data/{n}.py\ndef g():\n    return '%time'", "", "Writing data/3.py", ""},
		{"%%writefile -a data/3.py\n# more\n", "", "Appending to data/3.py", ""},
		{"open('data/3.py').read()", `"def g():\n    return '%time'\n# more\n"`, "", ""},
		{"%%capture out\nprint('kept'); import sys; print('too', file=sys.stderr)\n!echo shell", "", "", ""},
		{"out.stdout, out.stderr", `('kept\nshell\n', 'too\n')`, "", ""},
		{"len?", "", "len(obj, /)\nReturn the number of items", ""},
		{"?P", "", "P()", ""},
		{"import json\njson.loads??", "", "def loads(s, *,", ""},
		{"nosuch?", "", "Object `nosuch` not found.", ""},
		{"%time?", "", "Magics of this notebook: !command, %cat", ""},
		{"display([1], 'text'); 4", "4", "[1]\ntext\n", ""},
		{"%ls *.txt", "", "a b.txt", ""},
		{"zebra = 1\n%who", "", "zebra                int\n", ""},
	} {
		got := nt.Exec(t, r, row.code)
		if got.Ended != notebook.OK || !strings.HasSuffix(got.Value, row.value) || row.value == "" && got.Value != "" ||
			!strings.Contains(got.Stdout, row.stdout) || !strings.Contains(got.Stderr, row.stderr) {
			t.Errorf("%s\nended %q, value %q, stdout %q, stderr %q\n%s", row.code, got.Ended, got.Value, got.Stdout, got.Stderr, got.Error)
		}
	}
	if got := nt.Exec(t, r, "display(P(), P())"); len(got.Media) != 2 || got.Stdout != "" {
		t.Errorf("display: %d pictures, %q", len(got.Media), got.Stdout)
	}
}

// TestNoMagics: text, comments and operators of Python are never taken for
// magics, be there real ones beside them.
func TestNoMagics(t *testing.T) {
	t.Parallel()
	r := open(t, config(t))
	nt.Exec(t, r, "a, b, x = 7, 4, 1")
	for _, code := range []string{
		"got = '''\n!ls\n%time x\n%%bash\nlen?\n'''\nassert got.count('\\n') == 5",
		"got = f'''{a}\n!ls\n{b!r:>3}\n%cd /nosuch'''\nassert '!ls' in got",
		"got = (a\n%b)\nassert got == 3",
		"got = a \\\n%b\nassert got == 3",
		"got = a \\\n  %b # %b\nassert got == 3",
		"assert '%s!' % a == '7!' # !ls ?",
		"# !ls\n# %time\n#%%bash\n# len?",
		"assert f'{a=!r}' == 'a=7'",
		"assert a != b",
		"got = 'x = !ls'\nassert got[4] == '!'",
		"def f(p='!', q=3 %2):\n    '''?\n    %cd /nosuch\n    '''\n    return p\nassert f() == '!'",
		"got = {'k': a %b,\n'l': '''\n!'''}\nassert got['k'] == 3",
		"got = '\\\n!ls'\nassert got == '!ls'",
		"if a: # %%time\n    got = a; got %= b\nassert got == 3",
	} {
		for _, magic := range []string{"", "\n!echo magic", "\n%time 1", "\nlen?", "\nwords = !echo"} {
			got := nt.Exec(t, r, code+magic)
			if got.Ended != notebook.OK || strings.Contains(got.Stderr, "exit code") {
				t.Errorf("%s\nended %q: %s%s", code+magic, got.Ended, got.Error, got.Stderr)
			}
		}
	}
}

// TestMagicErrors: an error names the line that the cell has there, nothing of a
// cell that is no Python is run, and a clear word says what is no magic.
func TestMagicErrors(t *testing.T) {
	t.Parallel()
	r := open(t, config(t))
	nt.Exec(t, r, "ran = 0")
	for _, row := range []struct{ code, at, error string }{
		{"ran = 1\n!echo \\\n  on\n%time 1\n1/0", `File "<cell 1>", line 5`, "ZeroDivisionError: division by zero"},
		{"%%time\nx = 1\n1/0", `File "<cell 1>", line 3`, "ZeroDivisionError: division by zero"},
		{"a = 1\n%time 1/0", "line 2, in <module>\n    %time 1/0\n", "ZeroDivisionError: division by zero"},
		{"\n%cd nosuch", "line 2, in <module>\n    %cd nosuch\n", "FileNotFoundError: [Errno 2] No such file or directory: 'nosuch'"},
		{"%%bash\necho on\nexit 4", "line 1, in <module>\n    %%bash\n", "CalledProcessError: Command '%%bash' returned non-zero exit status 4."},
		{"ran = 2\n!ls\nx = (", `File "<cell 1>", line 3`, "SyntaxError: '(' was never closed"},
		{"ran = 2\n%sql select 1", `File "<cell 1>", line 2`, "SyntaxError: %sql is no magic of this notebook: use sqlite3, duckdb or another library; there are !command, %cat, "},
		{"ran = 2\n%nosuch", `line 2`, "SyntaxError: %nosuch is no magic of this notebook: write Python instead; there are"},
		{"%%html\n<b>", `line 1`, "SyntaxError: %%html is no magic of this notebook: there is no browser"},
		{"ran = 2\n%%bash\nls", `line 2`, "SyntaxError: %%bash must be the first line of its cell"},
		{"ran = 2\nx = % y", `line 2`, "SyntaxError: invalid syntax"},
		{"ran = 2\n!ls\ndef", `line 3`, "SyntaxError: invalid syntax"},
		{"ran = 2\nx = don't\n!ls", `line 2`, "SyntaxError: unterminated string literal"},
		{"ran = 2\nx = '''\n!ls", `line 2`, "SyntaxError: unterminated triple-quoted string literal"},
		{"ran = 2\nf(1 = !ls)", `line 2`, "SyntaxError: "},
		{"ran = 2\n1 = !ls", "line 2\n    1 = !ls\n", "SyntaxError: cannot assign to literal"},
	} {
		got := nt.Exec(t, r, row.code)
		if got.Ended != notebook.Failed || !strings.Contains(got.Error, row.at) || !strings.Contains(got.Error, "\n"+row.error) && !strings.Contains(got.Error, "."+row.error) ||
			strings.Contains(got.Error, "__rouse__") || strings.Contains(got.Error, "During handling") {
			t.Errorf("%s\nended %q: %s", row.code, got.Ended, got.Error)
		}
	}
	nt.Want(t, nt.Exec(t, r, "ran"), "1")
}

// TestMagicEnds: a command ends with its cell, at the cell's limits, and with all
// that it started.
func TestMagicEnds(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Limits.Idle = 500 * time.Millisecond
	r := open(t, c)
	alive := "import os, time\ndef alive():\n    try: os.kill(int(open('pid').read()), 0)\n    except OSError: return False\n    return open('/proc/%s/stat' % open('pid').read().strip()).read().split()[2] != 'Z'\n"
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		alive = strings.Replace(alive, "open('/proc/%s/stat' % open('pid').read().strip()).read().split()[2] != 'Z'", "True", 1)
	}
	for _, code := range []string{"!sleep 1000 & echo $! > pid; sleep 1000", "%%bash\nsleep 1000 & echo $! > pid\nsleep 1000", "x = !sleep 1000 & echo $! > pid"} {
		if got := nt.Exec(t, r, "kept = 1"); got.Ended != notebook.OK {
			t.Fatal(got.Error)
		}
		got := nt.Exec(t, r, code)
		if got.Ended != notebook.Idle {
			t.Errorf("%s: ended %q: %s", code, got.Ended, got.Error)
		}
		nt.Want(t, nt.Exec(t, r, alive+"alive()"), "False")
	}
	nt.Exec(t, r, "kept = 1\n!sleep 1000 & echo $! > pid")
	nt.Want(t, nt.Exec(t, r, alive+"while alive(): pass"), "")
	ctx, cancel := context.WithCancel(t.Context())
	out, err := r.Execute(ctx, notebook.Job{Code: "!echo on; sleep 1000"}, func(notebook.Event) { cancel() })
	if err != nil || out.Ended != notebook.Canceled || out.Lost {
		t.Errorf("canceled: %+v, %v", out, err)
	}
	nt.Want(t, nt.Exec(t, r, "kept"), "1")
}
