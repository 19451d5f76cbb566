package remote_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
	"rouse/tools/notebook"
	"rouse/tools/notebook/notebooktest"
)

// TestDiskFull: where the server cannot keep what a cell says, that cell ends and
// says so, or was not run; the next one runs.
func TestDiskFull(t *testing.T) {
	faults := []disktest.Fault{{Mode: disktest.Before, Err: syscall.ENOSPC}, {Mode: disktest.Half, Err: syscall.ENOSPC}}
	met := disktest.Sweep(t, faults, func(f *disktest.Faulty) {
		server, ran := newCounted(t)
		server.FS = f
		c := server.client("ann")
		c.LLM, c.Patience = (&notebooktest.Model{}).Ask, 5*time.Second
		r := open(t, c, "main")
		out, err := r.Execute(t.Context(), notebook.Job{ID: "x", Code: "a"}, func(notebook.Event) {})
		fine := err == nil && out.Ended == notebook.OK && out.Value == "echo: a"
		said := strings.Contains(out.Error, "cannot keep the output: ") || err != nil && strings.Contains(err.Error(), "cannot keep the output: ")
		if !fine && !said || ran.runs["a"] > 1 {
			t.Errorf("%v: ran %d times, ended %q, %s, %v", f.Fault, ran.runs["a"], out.Ended, out.Error, err)
		}
		if len(f.Fired()) > 0 {
			notebooktest.Want(t, notebooktest.Exec(t, r, "b"), "echo: b")
		}
	})
	t.Logf("%d faults", met)
}
