package pause

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"rouse/internal/disk"
)

const (
	firstGap = 30 * time.Minute
	longest  = 24 * time.Hour
	doubling = 6 // doublings of the first gap until it is the longest
)

// Cycle is how one cycle ended.
type Cycle struct {
	Began  time.Time
	Took   time.Duration
	Failed bool
	Error  string
	// Attempt is which cycle of its slot it is, from the second on.
	Attempt int
}

// Streak is a run of failures for the same cause, the newest of all cycles.
type Streak struct {
	Count int
	Cause string    // as the newest one told it
	Last  time.Time // when the newest one ended
}

// Look is how many of the newest cycles [Failures] wants at most.
func Look(pauseAfter int) int { return pauseAfter + doubling + 1 }

// Failures counts the failures, for the same cause, that cycles begin with. The
// newest comes first. All attempts at one slot are one failure, the last one's.
func Failures(cycles []Cycle) Streak {
	var s Streak
	earlier := 0 // attempts at the slot that is counted
	for _, c := range cycles {
		if earlier > 0 {
			earlier--
			continue
		}
		if earlier = max(0, c.Attempt-1); !c.Failed || s.Count > 0 && Cause(c.Error) != Cause(s.Cause) {
			break
		}
		if s.Count == 0 {
			s.Cause, s.Last = c.Error, c.Began.Add(c.Took)
		}
		s.Count++
	}
	return s
}

// Until says until when the slots of a home are to be skipped: not at all until
// pauseAfter cycles have failed for the same cause, then 30 minutes after the
// last failure, and twice as long after each further one, up to a day. A
// pauseAfter of 0 is never.
func (s Streak) Until(pauseAfter int) (until time.Time, ok bool) {
	if pauseAfter <= 0 || s.Count < pauseAfter {
		return time.Time{}, false
	}
	more := min(s.Count-pauseAfter, doubling)
	return s.Last.Add(min(firstGap<<more, longest)), true
}

// skew is by how much a clock may be put right between two cycles.
const skew = time.Minute

// Rests is [Streak.Until] where that is still to come. Failures that lie ahead of
// now let nobody rest: the clock was set back, and when they were is not known.
func (s Streak) Rests(now time.Time, pauseAfter int) (until time.Time, ok bool) {
	until, ok = s.Until(pauseAfter)
	return until, ok && now.Before(until) && !s.Last.After(now.Add(skew))
}

// Cause is what two errors share that were caused by the same: it has no numbers,
// nor words that are partly numbers, such as times, ids and addresses; only a
// status of HTTP stays, as 401 and 503 have different causes.
func Cause(text string) string {
	text, _, _ = strings.Cut(text, disk.MetBy)
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	cause := slices.Clone(words)
	for i, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) && (!isStatus(w) || isCount(words, i)) {
			cause[i] = "#"
		}
	}
	return strings.Join(cause, " ")
}

// isStatus says whether a word may be a status of HTTP that tells of an error.
func isStatus(word string) bool {
	word = strings.Trim(word, ":,;()")
	if len(word) != 3 || word[0] != '4' && word[0] != '5' {
		return false
	}
	return word[1] >= '0' && word[1] <= '9' && word[2] >= '0' && word[2] <= '9'
}

// isCount says of a number whether the words around it make it an amount or a
// place: "503 bytes", "port 443", "line 412".
func isCount(words []string, i int) bool {
	if i > 0 {
		switch words[i-1] {
		case "port", "line", "column", "byte", "offset", "event", "iteration", "process", "pid":
			return true
		}
	}
	if last := words[i][len(words[i])-1]; i+1 == len(words) || last < '0' || last > '9' {
		return false
	}
	switch next := strings.TrimRight(words[i+1], ".:,;)"); next {
	case "of", "s", "ms", "B", "kB", "KB", "KiB", "MB", "MiB":
		return true
	default: // a plural
		return len(next) > 3 && next[0] >= 'a' && next[0] <= 'z' && strings.HasSuffix(next, "s")
	}
}
