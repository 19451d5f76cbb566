package local

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/tools/notebook"
	"rouse/tools/notebook/notebooktest"
)

// wheel builds a package of one module that has a value, and returns its file.
// The format is that of PEP 427.
func wheel(t testing.TB, dir, name, value string) string {
	t.Helper()
	file := filepath.Join(dir, name+"-1.0-py3-none-any.whl")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	info := name + "-1.0.dist-info/"
	for _, f := range [][2]string{
		{name + ".py", "value = " + value + "\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", fmt.Sprintf("%s.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n", name, info, info, info)},
	} {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(f[1]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// offline is a configuration whose installers know only the wheels in a folder.
func offline(t testing.TB) (Config, string) {
	c, links := config(t), t.TempDir()
	c.InstallEnv = InstallEnviron([]string{"PIP_NO_INDEX=1", "PIP_FIND_LINKS=" + links, "SECRET=x"})
	return c, links
}

func recorded(t testing.TB, r *Runtime) string {
	b, err := os.ReadFile(r.path(requirementsName))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// TestInstall: packages are installed by us and by cells, from where the user
// said, and recorded only if that went well.
func TestInstall(t *testing.T) {
	t.Parallel()
	notebooktest.NeedPython(t)
	c, links := offline(t)
	c.Limits.Idle = 2 * time.Second
	c.Runner = withUV(t, filepath.Join(links, "said"), `python=$4; shift 5
[ "$1" != rouseb ] || sleep 3 # longer than a cell may be idle
for p; do
	"$python" -c 'import site, sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(site.getsitepackages()[0])' $UV_FIND_LINKS/${p%%>*}-1.0-py3-none-any.whl || exit 1
	echo "+ $p"
done`)
	installs(t, c, links)
}

// TestInstallByPip is the same with Python's own tools, which take seconds.
func TestInstallByPip(t *testing.T) {
	t.Parallel()
	if sweep.Of(true, false, false) {
		t.Skip("seconds: set ROUSE_SWEEP=wide")
	}
	c, links := offline(t)
	installs(t, c, links)
}

func installs(t *testing.T, c Config, links string) {
	wheel(t, links, "rousea", "41")
	wheel(t, links, "rouseb", "'b'")
	r := reopen(t, c, t.TempDir())
	var log bytes.Buffer
	if err := r.Install(t.Context(), []string{"rousea>=1"}, &log); err != nil || !strings.Contains(log.String(), "rousea") {
		t.Fatalf("%v\n%s", err, log.String())
	}
	x := notebooktest.Exec(t, r, "import rousea\ninstall('rouseb')\nimport rouseb; (rousea.value, rouseb.value)")
	notebooktest.Want(t, x, "(41, 'b')")
	if x.Log != "installing rouseb\n" {
		t.Errorf("log %q", x.Log)
	}
	if x = notebooktest.Exec(t, r, "install('rousec')"); !strings.Contains(x.Error, "RuntimeError: install rousec: exit code 1") {
		t.Errorf("error: %s", x.Error)
	}
	if got := recorded(t, r); got != "rousea>=1\nrouseb\n" {
		t.Errorf("recorded %q", got)
	}
}

// TestInstallsAtOnce: of packages that a cell installs side by side, all are
// recorded.
func TestInstallsAtOnce(t *testing.T) {
	t.Parallel()
	notebooktest.NeedPython(t)
	c, links := offline(t)
	c.Runner = withUV(t, filepath.Join(links, "said"), "")
	r := open(t, c)
	x := notebooktest.Exec(t, r, "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool: list(pool.map(install, 'abcdefgh'))")
	notebooktest.Want(t, x, "")
	if lines := strings.Fields(recorded(t, r)); len(lines) != 8 {
		t.Errorf("recorded %q", lines)
	}
}

// TestMadeAnew: whatever is wrong with an environment, it is made anew with its
// packages, without what somebody slipped into their record.
func TestMadeAnew(t *testing.T) {
	t.Parallel()
	notebooktest.NeedPython(t)
	c, links := offline(t)
	said := filepath.Join(links, "said")
	c.Runner = withUV(t, said, "")
	r := reopen(t, c, t.TempDir())
	anew(t, r)
	for _, e := range []string{"venv --seed --python python3 --system-site-packages " + r.path(venvName) + " [" + links + "]\n",
		"pip install --python " + r.interpreter() + " -- rousea>=1 rouseb [" + links + "]\n"} {
		if b, err := os.ReadFile(said); err != nil || !strings.Contains(string(b), e) {
			t.Errorf("%v: uv was not asked for %q, but\n%s", err, e, b)
		}
	}
}

// TestMadeAnewByPip is the same with Python's own tools, which take seconds.
func TestMadeAnewByPip(t *testing.T) {
	notebooktest.Full(t)
	c, links := offline(t)
	wheel(t, links, "rousea", "41")
	wheel(t, links, "rouseb", "'b'")
	r := reopen(t, c, t.TempDir())
	anew(t, r)
	notebooktest.Want(t, notebooktest.Exec(t, r, "import rousea, rouseb; rousea.value"), "41")
}

// withUV has a uv that says what it was asked, makes environments without pip,
// which is quick, and installs by a script.
func withUV(t *testing.T, said, install string) *proc.Runner {
	bin := t.TempDir()
	script := `#!/bin/sh
echo "$@ [$UV_FIND_LINKS]" >> ` + said + `
for last; do :; done
[ "$1" = pip ] || exec python3 -m venv --without-pip --system-site-packages "$last"
` + install + "\n"
	if err := os.WriteFile(filepath.Join(bin, "uv"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &proc.Runner{Env: append(environ(), "PATH="+bin+":"+os.Getenv("PATH"))}
}

func anew(t *testing.T, r *Runtime) {
	python := r.interpreter()
	put := func(name, text string) func() error {
		return func() error {
			os.Remove(name)
			return os.WriteFile(name, []byte(text), 0o755)
		}
	}
	for _, row := range []struct {
		name string
		harm func() error
	}{
		{"half made", func() error { return os.MkdirAll(filepath.Dir(python), 0o755) }},
		{"another version", put(r.path(venvName, recordName), `{"python":"3.1.0","interpreter":"python3","isolated":false}`)},
		{"another interpreter", put(r.path(venvName, recordName), `{"python":"3.1.0","interpreter":"python2","isolated":false}`)},
		{"record torn", put(r.path(venvName, recordName), `{"pyt`)},
		{"python gone", func() error { return os.Remove(python) }},
		{"python crashes", put(python, "#!/bin/sh\nkill -9 $$\n")},
		{"python is another program", put(python, "#!/bin/sh\nexit 0\n")},
		{"no environment", func() error { return os.RemoveAll(r.path(venvName)) }},
		{"a file in its place", func() error { os.RemoveAll(r.path(venvName)); return os.WriteFile(r.path(venvName), nil, 0o600) }},
	} {
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A poisoned record: an option is not passed on.
		if err := os.WriteFile(r.path(requirementsName), []byte("rousea>=1\n--index-url=http://127.0.0.1:1\nrouseb\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := row.harm(); err != nil {
			t.Fatal(err)
		}
		x := notebooktest.Exec(t, r, "kept = 1; 1+1")
		notebooktest.Want(t, x, "2")
		if !x.Note("made anew; 2 of 3 recorded packages") || !x.Note("--index-url") {
			t.Errorf("%s: notes %q", row.name, x.Notes)
		}
	}
}

// TestNoPython: an interpreter that is not there is named, and nothing is left.
func TestNoPython(t *testing.T) {
	c := config(t)
	c.Python = "/nowhere/python3"
	r := reopen(t, c, t.TempDir())
	_, err := r.Execute(t.Context(), notebook.Job{Code: "1"}, func(notebook.Event) {})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/python3") {
		t.Errorf("got %v", err)
	}
}

func TestCheckPackage(t *testing.T) {
	for _, p := range []string{"", " ", "-r x", "--index-url=x", "a\nb", "a\x00", "# a", " a"} {
		if checkPackage(p) == nil {
			t.Errorf("%q is allowed", p)
		}
	}
	for _, p := range []string{"pandas", "numpy>=2,<3", "a[b]==1", "./x.whl", "git+https://h/x", "x @ file:///y"} {
		if err := checkPackage(p); err != nil {
			t.Error(err)
		}
	}
	if packageKey("Foo_Bar[x]>=2") != packageKey("foo.bar==1") {
		t.Error("keys")
	}
}

// TestLibraries: asked once, and again when the interpreter has changed.
func TestLibraries(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	python := filepath.Join(bin, "python3")
	script := "#!/bin/sh\necho x >> " + bin + "/asked\necho pandas 2.2\necho numpy 1.0\n"
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := Config{Runner: &proc.Runner{Env: []string{"PATH=" + bin + ":/usr/bin:/bin"}}}
	if got, found := c.Known(dir); !found || got != nil {
		t.Errorf("known before it was asked: %q, %v", got, found)
	}
	for i := range 3 {
		got, err := c.Libraries(t.Context(), dir)
		if err != nil || cmp.Diff([]string{"pandas 2.2", "numpy 1.0"}, got) != "" {
			t.Fatalf("got %q, %v", got, err)
		}
		if known, _ := c.Known(dir); cmp.Diff(got, known) != "" {
			t.Errorf("known %q", known)
		}
		if i == 1 {
			os.WriteFile(python, []byte(script+"\n"), 0o755)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(bin, "asked")); strings.Count(string(b), "x") != 2 {
		t.Errorf("asked %d times", strings.Count(string(b), "x"))
	}
	nowhere := Config{Python: "python-nowhere", Runner: c.Runner}
	if _, found := nowhere.Known(dir); found {
		t.Error("found an interpreter that is not there")
	}
}
