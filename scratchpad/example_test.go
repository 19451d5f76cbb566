package scratchpad_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rouse/internal/disk"
	"rouse/scratchpad"
)

// The memory is changed without disturbing what did not change: a person's
// comments and the order of the keys stay.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "active.yaml")
	const text = "goals:\n  - keep the plants alive # all of them\ncurrent_task: water the plants\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	state, err := scratchpad.Load(path)
	if err != nil {
		panic(err)
	}
	err = state.Apply(
		scratchpad.Change{Op: scratchpad.OpSet, Key: "current_task", Value: nil},
		scratchpad.Change{Op: scratchpad.OpAppend, Key: "notes", Value: "the fern was dry"},
	)
	if err != nil {
		panic(err)
	}
	if err := state.Save(disk.OS{}, path, time.Date(2026, 4, 1, 15, 1, 54, 0, time.UTC)); err != nil {
		panic(err)
	}
	saved, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(saved))
	// Output:
	// goals:
	//   - keep the plants alive # all of them
	// current_task: null
	// pending_actions: []
	// completed_tasks: []
	// notes: the fern was dry
	// last_updated: '2026-04-01T15:01:54.000000'
}
