package agent

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"rouse/scratchpad"
)

// ranks are the kinds of lines of the notes in the order in which they are
// dropped. What is in none of them, such as what a person or the model wrote, is
// dropped after all of these but the last.
var ranks = []string{"[TOOL] ", "[PARSE ERROR] ", "[LIMIT] ", "Cycle ", "[INTERRUPTED] ", "[COMPLETED] ", "", "[NOTE] "}

func rank(line string) int {
	for i, prefix := range ranks {
		if prefix != "" && strings.HasPrefix(line, prefix) {
			return i
		}
	}
	return slices.Index(ranks, "")
}

// trim drops lines of notes that are longer than most bytes: those of the lowest
// rank first, the oldest first. It gives what is left and what was dropped.
func trim(notes string, most int) (left, dropped string) {
	over := len(notes) - most
	if most <= 0 || over <= 0 {
		return notes, ""
	}
	lines := strings.SplitAfter(notes, "\n")
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(lines[a]), rank(lines[b])) })
	gone := make([]bool, len(lines))
	for _, i := range order {
		if over <= 0 {
			break
		}
		gone[i] = true
		over -= len(lines[i])
	}
	var kept, lost strings.Builder
	for i, line := range lines {
		if gone[i] {
			lost.WriteString(line)
		} else {
			kept.WriteString(line)
		}
	}
	return strings.TrimSuffix(kept.String(), "\n"), lost.String()
}

// trimNotes makes the notes of a cycle that is about to sleep fit. What is
// dropped is first added to a file of its own, which is never removed, so that
// nothing is lost. Where that cannot be written, nothing is dropped.
func (k *Keeper) trimNotes(c *record, end []scratchpad.Change) ([]scratchpad.Change, error) {
	after := c.state.Clone()
	if after.Apply(end...) != nil {
		return end, nil
	}
	left, dropped := trim(after.Notes(), k.NotesMax)
	if dropped == "" {
		return end, nil
	}
	if err := k.keepDropped(c.id, dropped); err != nil {
		return end, fmt.Errorf("keep the notes that are dropped: %w", err)
	}
	return append(slices.Clone(end), set("notes", left)), nil
}

func (k *Keeper) keepDropped(cycle, text string) error {
	f, err := k.disk().OpenFile(k.Home.DroppedNotes(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "--- dropped from the notes by cycle %s\n%s\n", cycle, strings.Trim(text, "\n"))
	err = cmp.Or(err, f.Sync(), f.Close())
	return cmp.Or(err, k.disk().SyncDir(k.Home.Logs()))
}
