package dispatcher

import (
	"fmt"
	"strings"

	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// noteLimit bounds the note that comes with a call, in characters.
const noteLimit = 4000

// takeNote takes the note out of a call: it goes to the journal and to the
// memory, never to the tool.
func (d *Dispatcher) takeNote(o *Observation) error {
	if d.Notes == "" || d.Notes == tools.NoteOff {
		return nil
	}
	if t, ok := d.Find(o.Tool); ok && t.HasOwnNote() {
		return nil
	}
	var said string
	o.Args, said = tools.TakeNote(o.Args)
	said, o.Error = d.resolveText(said)
	if said == "" || said == d.noted {
		d.empty++
		return nil
	}
	d.noted = said
	n := &journal.Note{Step: o.Step, Text: said, Changes: []scratchpad.Change{note("\n[NOTE] " + o.marked(text.Line(said, noteLimit)))}}
	if d.Visible != nil {
		n.From = d.Visible()
	}
	n.Changes = d.mark(n.Changes)
	if d.apply(n.Changes) != nil {
		n.Changes = nil // the memory is full; the journal has it
	} else {
		d.notes = append(d.notes, strings.TrimSpace(fmt.Sprint(n.Changes[0].Value)))
	}
	return d.Journal.Append(n)
}

// resolveText puts the values of references into a text of the model's own; why
// that cannot be done is for the model to read.
func (d *Dispatcher) resolveText(said string) (text, refused string) {
	r := &resolver{lookup: d.lookup, shared: d.shared}
	text = asText(r.text(said))
	if r.err != nil {
		return "", tools.NoteParam + ": " + r.err.Error()
	}
	return text, ""
}

// keepNotes is a text that the model puts in the place of its notes, with those of
// its notes of this cycle that it does not have.
func (d *Dispatcher) keepNotes(text string) string {
	for _, line := range d.notes {
		if !strings.Contains(text, line) {
			text = strings.TrimRight(text, "\n") + "\n" + line
		}
	}
	return text
}

// EmptyNotes is how many calls came without a note, or with the one before.
func (d *Dispatcher) EmptyNotes() int { return d.empty }
