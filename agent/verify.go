package agent

import (
	"fmt"
	"slices"
	"strings"

	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
)

// Verify checks the chains of the newest journals, and says which of their lines
// are not proven, and what of the memory they are about. Journals from before the
// home had a key have none to check.
func Verify(h home.Home, newest int) (checked int, doubts []string, err error) {
	checked, list, err := doubted(h, newest)
	for _, d := range list {
		doubts = append(doubts, d.text(h))
	}
	return checked, doubts, err
}

// doubtedCycle is one whose journal has lines that are not proven.
type doubtedCycle struct {
	id    string
	lines journal.Doubts
}

// doubted finds them among the newest cycles, the oldest first.
func doubted(h home.Home, newest int) (checked int, list []doubtedCycle, err error) {
	key, err := h.Key()
	if err != nil {
		return 0, nil, err
	}
	ids, err := h.Cycles(newest)
	if err != nil || key == nil {
		return 0, nil, err
	}
	slices.Reverse(ids)
	for _, id := range ids {
		sealed, lines, err := verify(h, id, key)
		if err != nil {
			return checked, list, fmt.Errorf("journal of %s: %w", id, err)
		}
		if !sealed && checked == 0 {
			continue
		}
		if checked++; len(lines) > 0 {
			list = append(list, doubtedCycle{id, lines})
		}
	}
	return checked, list, nil
}

// verify checks one journal, and says whether any of its lines has a mac.
func verify(h home.Home, id string, key []byte) (sealed bool, doubts journal.Doubts, err error) {
	for l, err := range journal.Check(h.Journal(id), journal.NewChain(key, id)) {
		if err != nil {
			return sealed, nil, err
		}
		sealed = sealed || journal.Sealed(l.Line)
		doubts.Add(l)
	}
	return sealed, doubts, nil
}

func (d doubtedCycle) text(h home.Home) string {
	first := d.lines[0]
	line := fmt.Sprintf("%s line %d %s", h.Rel(h.Journal(d.id)), first.Number, first.Doubt)
	if n := len(d.lines); n > 1 {
		line += fmt.Sprintf(" (%d lines in all)", n)
	}
	if keys := d.keys(); len(keys) > 0 {
		line += ", about " + text.Line(strings.Join(keys, ", "), 200)
	}
	return line
}

// keys are those of the memory that the lines would change.
func (d doubtedCycle) keys() (keys []string) {
	for _, l := range d.lines {
		for _, c := range journal.Changes(l.Event) {
			if !slices.Contains(keys, c.Key) {
				keys = append(keys, c.Key)
			}
		}
	}
	return keys
}
