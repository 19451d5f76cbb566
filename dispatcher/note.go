package dispatcher

import (
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
	if t, ok := d.find(o.Tool); ok && tools.HasOwnNote(t.Parameters()) {
		return nil
	}
	var text string
	o.Args, text = tools.TakeNote(o.Args)
	if text == "" || text == d.noted {
		d.empty++
		return nil
	}
	d.noted = text
	n := &journal.Note{Step: o.Step, Text: text, Changes: []scratchpad.Change{note("\n[NOTE] " + journal.Line(text, noteLimit))}}
	if d.Visible != nil {
		n.From = d.Visible()
	}
	if d.apply(n.Changes) != nil {
		n.Changes = nil // the memory is full; the journal has it
	}
	return d.Journal.Append(n)
}

// EmptyNotes is how many calls came without a note, or with the one before.
func (d *Dispatcher) EmptyNotes() int { return d.empty }
