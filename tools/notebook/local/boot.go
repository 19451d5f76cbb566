package local

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"os"
	"path"

	"rouse/internal/disk"
)

//go:embed python/*.py
var python embed.FS

const (
	bootName    = "boot"
	packageName = "rouse_notebook"
	// compiledName is where Python keeps what it has compiled of it.
	compiledName = bootName + "/" + packageName + "/__pycache__"
	// bootCode is all that the interpreter is told; the rest is imported, so
	// that Python compiles it once.
	bootCode = "import sys; sys.path[0] = sys.argv.pop(); from rouse_notebook.main import main; del sys.path[0]; main()"
)

// unpack puts our Python where the process can import it. What is there already
// and differs is replaced.
func (r *Runtime) unpack() error {
	dir := r.path(bootName, packageName)
	if err := cmp.Or(r.c.FS.MkdirAll(r.path(compiledName), 0o700), r.c.FS.MkdirAll(r.path(savedName), 0o700)); err != nil {
		return fmt.Errorf("unpack boot code: %w", err)
	}
	files, err := python.ReadDir("python")
	if err != nil {
		return fmt.Errorf("unpack boot code: %w", err)
	}
	for _, f := range files {
		want, err := python.ReadFile("python/" + f.Name())
		if err != nil {
			return fmt.Errorf("unpack boot code: %w", err)
		}
		name := path.Join(dir, f.Name())
		if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, want) {
			continue
		}
		if err := disk.Replace(r.c.FS, name, want, 0o600); err != nil {
			return fmt.Errorf("unpack boot code: %w", err)
		}
	}
	return nil
}
