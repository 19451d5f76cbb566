package local

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/tools/notebook"
)

// TestCanary: a credential that cells may see is in nothing that they leave:
// outputs, errors, cells on disk, the Jupyter notebook, saved variables.
func TestCanary(t *testing.T) {
	t.Parallel()
	canary := "canary " + strings.Repeat("Qz7", 8)
	c := config(t)
	c.Env, c.Secret = []string{"DS_PG__PASSWORD=" + canary}, []string{"DS_PG__PASSWORD"}
	first := open(t, c)
	home := t.TempDir()
	told := &bytes.Buffer{}
	m := &notebook.Manager{Dir: home, FS: disk.OS{}, Redact: redact.New(map[string]string{"PG": canary}),
		Open: func(_, dir string) (notebook.Runtime, error) {
			os.Symlink(filepath.Join(first.dir, venvName), filepath.Join(dir, venvName))
			return c.Open(dir)
		},
		After: func(_ context.Context, _ string, c notebook.Cell) error { return json.NewEncoder(told).Encode(c) }}
	for _, code := range []string{
		"import os, sys, base64\np = os.environ['DS_PG__PASSWORD']",
		"p", "print(p)", "print(p, file=sys.stderr)", "progress(p)", "raise ValueError(p)", "base64.b64encode(p.encode())",
		"install(p)", "get_llm().complete(messages=p)", "sys.exit(p)", "1 + '" + canary + "'",
		"for ch in p: print(ch, end='', flush=True)", "os.write(1, p[:9].encode()); os.write(1, p[9:].encode())",
		"q = {'again': [p]}; def_f = lambda x=p: x", "print(p); os._exit(1)",
		"import os; p = os.environ['DS_PG__PASSWORD']; q = [p]",
	} {
		if cell, err := m.Exec(t.Context(), "n", notebook.Request{Code: code, Output: told}); err != nil {
			told.WriteString(err.Error())
		} else {
			json.NewEncoder(told).Encode(cell)
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		told.Write(b)
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files: %v", files, err)
	}
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
		if strings.Contains(told.String(), form) {
			t.Errorf("%q is in what was left", form)
		}
	}
	if n := strings.Count(told.String(), "[REDACTED:PG]"); n < 30 {
		t.Errorf("only %d marks", n)
	}
}
