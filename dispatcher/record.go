package dispatcher

import (
	"fmt"
	"strings"

	"rouse/internal/text"
)

// noteRunes is how much of a result, and of the arguments, goes to the notes.
const noteRunes = 300

// noteBytes is more than such a line takes in the file, escapes included.
const noteBytes = 16 << 10

// Room reports that the memory cannot take the line of one more call. A call
// that it cannot tell of would be made again in every cycle.
func (d *Dispatcher) Room() error {
	return d.State.Clone().Apply(note(strings.Repeat("x", noteBytes)))
}

// toolNote is the line that a call leaves in the notes.
func toolNote(o Observation) string {
	said := o.text()
	if !o.OK {
		said = strings.TrimSpace("error: " + o.Error + "\n" + said)
	}
	approved := ""
	if o.approved != "" {
		approved = " approved " + o.approved
	}
	return fmt.Sprintf("\n[TOOL] %s(%s)%s → %s",
		text.Line(o.Tool, noteRunes), text.Line(string(o.Args), noteRunes), approved, text.Line(said, noteRunes))
}
