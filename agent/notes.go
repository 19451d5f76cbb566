package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rouse/home"
	"rouse/internal/text"
	"rouse/scratchpad/origin"
)

// foldedCalls begins the line that stands for the calls of a cycle.
const foldedCalls = "[TOOLS] "

// ranks are the kinds of lines of the notes in the order in which they are
// dropped. What is in none of them, such as what a person or the model wrote, is
// dropped after all of these but the last.
var ranks = []string{foldedCalls, "[TOOL] ", "[PARSE ERROR] ", "[LIMIT] ", "Cycle ", "[INTERRUPTED] ", "[APPROVAL] ", "[WAITING] ", "[COMPLETED] ", "", "[NOTE] "}

// bare is a line without its mark. The line of a cycle that failed has no tag of its own.
func bare(line string) string {
	_, plain := origin.Unmark(line)
	if failed, ok := strings.CutPrefix(plain, "[NOTE] Cycle "); ok && plain != line {
		return "Cycle " + failed
	}
	return plain
}

func rank(line string) int {
	line = bare(line)
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

// keptCycles is of how many cycles the notes keep what they did, in a line each.
const keptCycles = 7

// fold makes one line of the calls of each cycle before the previous one. Of cycles
// long past it drops that line too, and the one that a task was done, which the
// finished tasks have; and of a note that was made again in the same words the
// older one. It gives what is left and what was dropped.
func fold(notes string) (left, dropped string) {
	lines := strings.SplitAfter(notes, "\n")
	ends, said := cycleEnds(lines), map[string]int{}
	for _, line := range lines {
		said[strings.TrimSuffix(line, "\n")]++
	}
	var kept, lost strings.Builder
	from := 0
	for i := range len(ends) - 2 {
		f := folding{past: i < len(ends)-keptCycles, said: said, kept: &kept, lost: &lost}
		for _, line := range lines[from:ends[i]] {
			f.add(line)
		}
		from = ends[i]
	}
	if lost.Len() == 0 {
		return notes, ""
	}
	return kept.String() + strings.Join(lines[from:], ""), lost.String()
}

// cycleEnds says behind which lines the cycles end. One that failed after it was
// done, or was settled, ends twice.
func cycleEnds(lines []string) (ends []int) {
	for i, line := range lines {
		if !isEnd(line) {
			continue
		}
		if n := len(ends); n > 0 && ends[n-1] == i && !strings.HasPrefix(bare(line), "[COMPLETED] ") {
			ends = ends[:n-1]
		}
		ends = append(ends, i+1)
	}
	return ends
}

// isEnd says whether a line is the last that a cycle writes.
func isEnd(line string) bool {
	line = bare(line)
	for _, prefix := range []string{"[COMPLETED] ", "[WAITING] ", "[LIMIT] ", "[STOPPED] ", "[INTERRUPTED] "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(line, "Cycle ")
	return ok && len(rest) > len(home.CycleForm) && home.ValidCycle(rest[:len(home.CycleForm)])
}

// folding is the notes of one cycle.
type folding struct {
	past       bool
	said       map[string]int // how often the notes have a line
	kept, lost *strings.Builder

	calls, failed int
	names         []string
	of            map[string]int
	from          origin.Set // of the calls
}

func (f *folding) add(line string) {
	said := strings.TrimSuffix(line, "\n")
	plain := bare(said)
	call, isCall := strings.CutPrefix(plain, "[TOOL] ")
	switch {
	case isCall:
		f.call(call)
		from, _ := origin.Unmark(said)
		f.from = f.from.With(from...)
	case f.past && (strings.HasPrefix(plain, foldedCalls) || strings.HasPrefix(plain, "[COMPLETED] ")):
	case strings.HasPrefix(plain, "[NOTE] ") && f.said[said] > 1:
		f.said[said]--
	default:
		if isEnd(line) && f.calls > 0 && !f.past {
			f.kept.WriteString(f.line())
		}
		f.kept.WriteString(line)
		return
	}
	f.lost.WriteString(line)
}

func (f *folding) call(said string) {
	name, rest, _ := strings.Cut(said, "(")
	if f.of == nil {
		f.of = map[string]int{}
	}
	if f.of[name]++; f.of[name] == 1 {
		f.names = append(f.names, name)
	}
	if f.calls++; strings.Contains(rest, " → error: ") {
		f.failed++
	}
}

// line stands for the calls.
func (f *folding) line() string {
	var each []string
	for _, name := range f.names {
		each = append(each, fmt.Sprintf("%s %d", name, f.of[name]))
	}
	line := foldedCalls + text.Count(f.calls, "call")
	if f.failed > 0 {
		line += fmt.Sprintf(" (%d failed)", f.failed)
	}
	return f.from.Line(line+": "+strings.Join(each, ", ")) + "\n"
}
