package observation

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var (
	klogLine = regexp.MustCompile(`^([FEWI])[0-9]{4} `)
	anyWord  = regexp.MustCompile(`[0-9A-Za-z_]+`)
)

// levelPlain is the level of a line by two plain expressions.
func levelPlain(line string) level {
	if m := klogLine.FindStringSubmatch(line); m != nil {
		return map[string]level{"F": fatal, "E": severe, "W": warning, "I": info}[m[1]]
	}
	for _, at := range anyWord.FindAllStringIndex(line, -1) {
		word := line[at[0]:at[1]]
		if at[0] >= levelReach || len(word) > 8 {
			continue
		}
		if word == strings.ToUpper(word) || isLevelPlace([]byte(line), at[0], at[1]) {
			if v := named([]byte(word)); v != 0 {
				return v
			}
		}
	}
	return 0
}

func plainLevels(text string) (counts [len(levelNames)]int64, first, last int64) {
	for i, line := range strings.Split(text, "\n") {
		v := levelPlain(line)
		if v == 0 {
			continue
		}
		counts[v]++
		if v <= severe {
			last = int64(i + 1)
			if first == 0 {
				first = last
			}
		}
	}
	return counts, first, last
}

func checkLevels(t *testing.T, text string) {
	t.Helper()
	l := newLevels()
	for rest := []byte(text); len(rest) > 0; { // in blocks of a few lines
		n := min(len(rest), 300)
		if i := bytes.IndexByte(rest[n:], '\n'); i >= 0 {
			n += i + 1
		} else {
			n = len(rest)
		}
		l.add(rest[:n])
		rest = rest[n:]
	}
	counts, first, last := plainLevels(text)
	if l.counts != counts || l.first.line != first || l.last.line != last {
		t.Errorf("%q:\n%v, errors in lines %d to %d, want %v, %d to %d", text, l.counts, l.first.line, l.last.line, counts, first, last)
	}
}

// TestLevelsAsAPlainSearch makes lines of what tempts to be taken for a level.
func TestLevelsAsAPlainSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"error", "ERROR", "Err", "INFO", "info", "warn", "WARNING", "E1121 ", "I0102", "W123 ", "level=", "[", "]", ":", `"`, "=", " ",
		" ", "\n", "\n", "x", "_", "7", "é", "\xff", "@", "`", "notice", "not", "trap", "TRACE", "\r\n", "(FATAL)", strings.Repeat("-", 60), "{debug|"}
	for range 3000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		checkLevels(t, b.String())
	}
}

// FuzzLevels wants the levels that a plain search finds in any text.
func FuzzLevels(f *testing.F) {
	f.Add("E1121 04:15:26 x\n7error: level=warn\n[info] up\n")
	f.Add(strings.Repeat("long ", 39) + "error ERROR\nERR")
	f.Fuzz(checkLevels)
}
