package observation

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"rouse/internal/text"
)

// levels counts the lines of a log by their level.
type levels struct {
	counts      [len(levelNames)]int64
	newlines    int64       // so far
	mid         bool        // the block ended within a line
	first, last mark        // lines that tell an error
	word        [256]bool   // bytes that are part of words
	begin       [512]uint64 // a bit for each triple that a level begins with
}

func newLevels() *levels {
	var l levels
	for c := range len(l.word) {
		l.word[c] = isWord(byte(c))
	}
	for _, s := range []string{"fat", "pan", "cri", "eme", "err", "sev", "ale", "war", "inf", "not", "deb", "tra"} {
		l.beginWith(s[0], s[1], s[2])
	}
	for i := range 400 { // klog's
		l.beginWith("FEWI"[i/100], '0'+byte(i/10%10), '0'+byte(i%10))
	}
	return &l
}

func (l *levels) beginWith(a, b, c byte) {
	t := triple(a, b, c)
	l.begin[t/64] |= 1 << (t % 64)
}

// triple is a number for three bytes: the same for small and capital letters;
// other bytes share it with letters.
func triple(a, b, c byte) uint { return uint(a&31)<<10 | uint(b&31)<<5 | uint(c&31) }

// mark is a line.
type mark struct {
	line int64
	text string
}

// level is that of one line; none is 0.
type level int

const (
	fatal level = iota + 1
	severe
	warning
	info
	debug
	trace
)

// levelNames are in the order of the levels.
var levelNames = [...]string{"", "fatal", "error", "warn", "info", "debug", "trace"}

// Within how much of a line its level is looked for, and how much of a line is
// quoted.
const (
	levelReach = 200
	quoted     = 160
)

// add looks for words that may be levels, and only where it finds one for the
// line that it is in.
func (l *levels) add(p []byte) {
	o := 0
	if l.mid {
		o = nextLine(p, 0)
	}
	last := -1 // where the last line begins that tells an error
	for at := l.candidate(p, o); at < len(p); at = l.candidate(p, o) {
		o = at + 1
		line := lineStart(p, at)
		v := l.levelOf(p, at, line)
		if v == 0 {
			continue
		}
		l.counts[v]++
		o = nextLine(p, at)
		if v <= severe {
			if last = line; l.first.line == 0 {
				l.first = l.mark(p, line)
			}
		}
	}
	if last >= 0 {
		l.last = l.mark(p, last)
	}
	l.newlines += int64(bytes.Count(p, []byte{'\n'}))
	l.mid = len(p) > 0 && p[len(p)-1] != '\n'
}

// mark is the line of the block p that begins at o.
func (l *levels) mark(p []byte, o int) mark {
	return mark{l.newlines + int64(bytes.Count(p[:o], []byte{'\n'})) + 1, quote(p[o:lineEnd(p, o)])}
}

// nextLine is where the line after the one at o begins.
func nextLine(p []byte, o int) int { return min(lineEnd(p, o)+1, len(p)) }

// lineStart is where the line at o begins; -1 if that is out of reach.
func lineStart(p []byte, o int) int {
	from := max(0, o-levelReach)
	if i := bytes.LastIndexByte(p[from:o], '\n'); i >= 0 {
		return from + i + 1
	}
	if o >= levelReach {
		return -1
	}
	return 0
}

// candidate finds the first word, from o on, that begins as a level does;
// len(p) for none. Words begin with a letter after something else.
func (l *levels) candidate(p []byte, o int) int {
	var before uint64 // whether the byte before o is a letter, as letters says
	if o > 0 && isLetter(p[o-1]) {
		before = letter
	}
	for ; o+10 <= len(p); o += 8 {
		here := letters(binary.LittleEndian.Uint64(p[o:]))
		starts := here &^ (here<<8 | before)
		before = here >> 56
		for ; starts != 0; starts &= starts - 1 {
			if at := o + bits.TrailingZeros64(starts)/8; l.mayBegin(p[at:]) {
				return at
			}
		}
	}
	for ; o+2 < len(p); o++ {
		if isLetter(p[o]) && before == 0 && l.mayBegin(p[o:]) {
			return o
		}
		before = 0
		if isLetter(p[o]) {
			before = letter
		}
	}
	return len(p)
}

// mayBegin says whether a level may begin with p, of three bytes at least.
func (l *levels) mayBegin(p []byte) bool {
	t := triple(p[0], p[1], p[2])
	return l.begin[t/64]>>(t%64)&1 != 0
}

// letter is the bit that letters sets.
const letter = 0x20

// letters sets a bit in each of eight bytes that is a letter: of those from 0x40
// to 0x7f, the ones whose lower five bits are 1 to 26.
func letters(w uint64) uint64 {
	const each = 0x0101010101010101
	low := w & (31 * each)
	return (w >> 1) &^ (w >> 2) & (low + 31*each) &^ (low + 5*each) & (letter * each)
}

// quote is the beginning of a line, in whole characters.
func quote(line []byte) string {
	line = bytes.TrimRight(line, "\r")
	if len(line) <= quoted {
		return string(line)
	}
	line = line[:quoted]
	return string(line[:len(line)-text.Incomplete(line)]) + "…"
}

func (l *levels) found() int64 {
	var n int64
	for _, c := range l.counts {
		n += c
	}
	return n
}

// String says the counts and the first and last error, each on a line of its
// own; "" where there is nothing to say.
func (l *levels) String() string {
	var b strings.Builder
	sep := "\nlevels: "
	for v, c := range l.counts {
		if c > 0 {
			fmt.Fprintf(&b, "%s%d %s", sep, c, levelNames[v])
			sep = ", "
		}
	}
	if l.first.line > 0 {
		fmt.Fprintf(&b, "\nfirst error, line %d: %s", l.first.line, l.first.text)
	}
	if l.last.line > l.first.line {
		fmt.Fprintf(&b, "\nlast error, line %d: %s", l.last.line, l.last.text)
	}
	return b.String()
}

// levelOf is the level that the word at p[at:] tells of the line that begins at
// line: a word in capitals, a word in a place where levels stand, or klog's first
// letter.
func (l *levels) levelOf(p []byte, at, line int) level {
	if line < 0 {
		return 0
	}
	if at == line {
		if v := klog(p[at:]); v != 0 {
			return v
		}
	}
	end := at
	for end < len(p) && l.word[p[end]] {
		end++
	}
	word := p[at:end]
	if at > 0 && l.word[p[at-1]] || len(word) > 8 || !isUpper(word) && !isLevelPlace(p, at, end) {
		return 0
	}
	return named(word)
}

// klog is the level of lines such as "E1121 04:15:26.123456 ...".
func klog(line []byte) level {
	if len(line) < 6 || line[5] != ' ' {
		return 0
	}
	for _, c := range line[1:5] {
		if c < '0' || c > '9' {
			return 0
		}
	}
	return map[byte]level{'F': fatal, 'E': severe, 'W': warning, 'I': info}[line[0]]
}

// named is the level that a word names.
func named(word []byte) level {
	var low [8]byte
	for i, c := range word {
		low[i] = c | 0x20
	}
	switch string(low[:len(word)]) {
	case "fatal", "panic", "critical", "crit", "emerg":
		return fatal
	case "error", "err", "severe", "alert":
		return severe
	case "warning", "warn":
		return warning
	case "info", "notice":
		return info
	case "debug":
		return debug
	case "trace":
		return trace
	}
	return 0
}

// isLevelPlace says whether the word at line[i:j], in small letters, stands as a
// level does: level=error, [error], "error", error:, but not as a key.
func isLevelPlace(line []byte, i, j int) bool {
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = line[i-1]
	}
	if j < len(line) {
		after = line[j]
	}
	switch before {
	case '[', '<', '=', '(', '|':
		return true
	case '"':
		return after == '"' && (j+1 >= len(line) || line[j+1] != ':')
	}
	return after == ':' || after == ']'
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWord(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' }

func isUpper(word []byte) bool {
	for _, c := range word {
		if c >= 'a' {
			return false
		}
	}
	return true
}
