package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"rouse/internal/disk"
	"rouse/internal/proc"
)

// processName holds how to find what the process and its cells have started. It
// is there until the notebook is closed, and after a Rouse that was killed: no
// cycle settles what `rouse notebook exec` or `serve` left.
const processName = "process.json"

// started is what processName holds.
type started struct {
	Mark     string        `json:"mark"`
	Identity proc.Identity `json:"identity"`
}

// remember writes down a process that was started. Power loss ends it with all
// that it started, so that nothing need be durable.
func (r *Runtime) remember(p *proc.Process) error {
	b, err := json.Marshal(started{p.Mark(), p.Identity()})
	if err != nil {
		return err
	}
	return disk.Overwrite(r.c.FS, r.path(processName), b, 0o600)
}

// endLeftovers ends what a Rouse that was killed left of this notebook.
func (r *Runtime) endLeftovers() error {
	b, err := os.ReadFile(r.path(processName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var left started
	if err == nil && json.Unmarshal(b, &left) == nil { // else it was killed when it wrote this
		_, err = proc.EndLeftovers(left.Mark, []proc.Identity{left.Identity}, proc.Identity{})
	}
	if err != nil {
		return fmt.Errorf("end what an earlier process left: %w", err)
	}
	return r.c.FS.Remove(r.path(processName))
}
