package journal

import (
	"encoding/json"
	"fmt"
	"strings"

	"rouse/internal/text"
	"rouse/scratchpad"
)

// Tidied says what leaves the memory before it is saved, as it became too much. Once
// the memory is saved, the cycle puts it where it goes.
type Tidied struct {
	// Tasks are the finished tasks that go to the archive, the oldest first, and
	// Notes the lines that go to those that were dropped.
	Tasks []json.RawMessage `json:"tasks,omitempty"`
	Notes string            `json:"notes,omitempty"`
	// Changes take them out of the memory.
	Changes []scratchpad.Change `json:"changes"`
}

func (*Tidied) event() string { return "tidied" }

func (d *Tidied) text() string {
	lines := 0
	for range strings.Lines(d.Notes) {
		lines++
	}
	return fmt.Sprintf("tidy   %s and %s of the notes leave the memory", text.Count(len(d.Tasks), "finished task"), text.Count(lines, "line"))
}
