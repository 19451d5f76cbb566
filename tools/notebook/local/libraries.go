package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rouse/internal/disk"
	"rouse/internal/proc"
)

const librariesName = "libraries.json"

// notable are the distributions that are worth naming to a model.
const notable = "numpy pandas polars pyarrow duckdb scipy scikit-learn statsmodels matplotlib seaborn plotly altair pillow " +
	"requests httpx aiohttp beautifulsoup4 lxml openpyxl sqlalchemy psycopg2 pydantic networkx sympy torch tensorflow transformers cloudpickle dill"

const probe = `import importlib.metadata as m, sys
for name in sys.argv[1].split():
    try: print(name, m.version(name))
    except m.PackageNotFoundError: pass
`

// probed is what a probe found, and of which interpreter.
type probed struct {
	Python    string   `json:"python"`
	Changed   int64    `json:"changed"` // of its file
	Libraries []string `json:"libraries"`
}

// Known names the libraries as [Config.Libraries] found them last, none if it was
// not asked yet, and says whether there is an interpreter. It starts nothing.
func (c Config) Known(dir string) (libraries []string, found bool) {
	c.Python = cmp.Or(c.Python, "python3")
	when := changed(c.Python, proc.Lookup(c.Runner.Env, "PATH"))
	var have probed
	if b, err := os.ReadFile(filepath.Join(dir, librariesName)); err == nil && json.Unmarshal(b, &have) == nil &&
		have.Python == c.Python && have.Changed == when && !c.Isolated {
		libraries = have.Libraries
	}
	return libraries, when != 0
}

// Libraries names the notable libraries that new environments have from the
// system, as "pandas 2.2.3". The interpreter is asked once; what it said is kept
// in the folder dir, that of all notebooks, as long as the interpreter stays.
func (c Config) Libraries(ctx context.Context, dir string) ([]string, error) {
	c.FS, c.Python = disk.Or(c.FS), cmp.Or(c.Python, "python3")
	if c.Isolated {
		return nil, nil
	}
	name := filepath.Join(dir, librariesName)
	want := probed{Python: c.Python, Changed: changed(c.Python, proc.Lookup(c.Runner.Env, "PATH"))}
	var have probed
	if b, err := os.ReadFile(name); err == nil && json.Unmarshal(b, &have) == nil && have.Python == want.Python && have.Changed == want.Changed {
		return have.Libraries, nil
	}
	said := c.Redact.NewTail(8000)
	box, _ := c.boxes("")
	exit, err := c.Runner.Run(ctx, proc.Command{Argv: []string{c.Python, "-c", probe, notable}, Stdout: said, Timeout: probeTimeout, Box: box})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s", exit)
	}
	if err != nil {
		return nil, fmt.Errorf("look for Python libraries: %w", err)
	}
	want.Libraries = strings.FieldsFunc(said.String(), func(r rune) bool { return r == '\n' })
	b, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	if err := c.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep Python libraries: %w", err)
	}
	if err := disk.Replace(c.FS, name, b, 0o600); err != nil {
		return nil, fmt.Errorf("keep Python libraries: %w", err)
	}
	return want.Libraries, nil
}

// Check says why no notebook could start: its interpreter is not there, or cannot make
// an environment.
func (c Config) Check(ctx context.Context) error {
	c.Python = cmp.Or(c.Python, "python3")
	said, needs := c.Redact.NewTail(300), "import venv, ensurepip"
	if (&Runtime{c: c}).uv() != "" {
		needs = "pass" // it brings what it needs
	}
	box, _ := c.boxes("")
	exit, err := c.Runner.Run(ctx, proc.Command{Argv: []string{c.Python, "-c", needs}, Stderr: said, Timeout: probeTimeout, Box: box})
	if err == nil && !exit.OK() {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		err = fmt.Errorf("it has not the modules venv and ensurepip, such as of the package python3-venv (%s)", cmp.Or(lines[len(lines)-1], exit.String()))
	}
	if err != nil {
		return fmt.Errorf("no notebook can start with %s: %w", c.Python, err)
	}
	return nil
}

// changed is when the interpreter's file was last changed, in nanoseconds since
// 1970; 0 if it is not found.
func changed(python, path string) int64 {
	for _, dir := range append([]string{""}, filepath.SplitList(path)...) {
		file := filepath.Join(dir, python)
		if fi, err := os.Stat(file); err == nil && filepath.IsAbs(file) {
			return fi.ModTime().UnixNano()
		}
	}
	return 0
}
