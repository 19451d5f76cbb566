package agent

import (
	"fmt"
	"slices"

	"rouse/home"
	"rouse/journal"
)

// Verify checks the chains of the newest journals, and says which of their lines
// are not proven. Journals from before the home had a key have none to check.
func Verify(h home.Home, newest int) (checked int, doubts []string, err error) {
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
		sealed, doubt, err := verify(h, id, key)
		if err != nil {
			return checked, doubts, fmt.Errorf("journal of %s: %w", id, err)
		}
		if !sealed && checked == 0 {
			continue
		}
		if checked++; doubt != "" {
			doubts = append(doubts, doubt)
		}
	}
	return checked, doubts, nil
}

// verify checks one journal, and says whether any of its lines has a mac.
func verify(h home.Home, id string, key []byte) (sealed bool, doubt string, err error) {
	first, count := "", 0
	for l, err := range journal.Check(h.Journal(id), journal.NewChain(key, id)) {
		if err != nil {
			return sealed, "", err
		}
		sealed = sealed || journal.Sealed(l.Line)
		if l.Doubt == "" {
			continue
		}
		if count++; count == 1 {
			first = fmt.Sprintf("%s line %d %s", h.Rel(h.Journal(id)), l.Number, l.Doubt)
		}
	}
	if count > 1 {
		first += fmt.Sprintf(" (%d lines in all)", count)
	}
	return sealed, first, nil
}
