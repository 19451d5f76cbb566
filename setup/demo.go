package setup

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"rouse"
	"rouse/agent"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/scratchpad"
)

// Demo are the tasks with which a new home begins. Each is a line of its own in the
// template, so that no YAML is read at every start.
func Demo() (tasks []string) {
	text, err := rouse.Template.ReadFile(home.Home{}.Rel(home.Home{}.Initial()))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line, current := strings.CutPrefix(strings.TrimSpace(line), "current_task: ")
		line, pending := strings.CutPrefix(line, "- ")
		if current || pending {
			tasks = append(tasks, strings.Trim(line, "'"))
		}
	}
	return tasks
}

// emptyMemory is what a home begins anew with whose initial state is the demo.
const emptyMemory = `goals: []
current_task: null
pending_actions: []
completed_tasks: []
notes: ""
`

// Reset is [agent.Keeper.Reset]. Where the initial state is the demo of a new home the
// next cycle begins with an empty memory.
func Reset(h home.Home, now func() time.Time, clean bool) (to string, empty bool, err error) {
	to, err = (&agent.Keeper{Home: h, Now: now}).Reset(clean)
	if err != nil || !beginsWithDemo(h) {
		return to, false, err
	}
	err = disk.Create(disk.OS{}, h.Active(), []byte(emptyMemory), 0o600)
	if errors.Is(err, fs.ErrExist) { // a cycle was quicker
		return to, false, nil
	}
	return to, err == nil, err
}

// beginsWithDemo says that the initial state of a home is the demo, as it was written.
func beginsWithDemo(h home.Home) bool {
	s, err := scratchpad.Load(h.Initial())
	if err != nil || len(s.Goals()) > 0 || s.Notes() != "" || len(s.Completed()) > 0 {
		return false
	}
	tasks := append([]any{s.CurrentTask()}, s.Pending()...)
	demo := Demo()
	for i, t := range tasks {
		if len(tasks) != len(demo) || scratchpad.TaskText(t) != demo[i] {
			return false
		}
	}
	return true
}
