package observation

import (
	"bytes"
	"fmt"
	"strings"
)

// levels counts the lines of a log by their level.
type levels struct {
	counts      [len(levelNames)]int64
	line        int64       // number of lines that began
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
		t := triple(triple(triple(0, s[0]), s[1]), s[2])
		l.begin[t/64] |= 1 << (t % 64)
	}
	return &l
}

// triple is a number for three bytes, made of that for the three before the last
// came: the same for small and capital letters; other bytes share it with
// letters.
func triple(t uint, c byte) uint { return (t<<5 | uint(c&31)) & (1<<15 - 1) }

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

func (l *levels) add(p []byte) {
	for len(p) > 0 {
		line := p
		i := bytes.IndexByte(p, '\n')
		if i >= 0 {
			line, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		if !l.mid {
			l.line++
			if v := l.levelOf(line[:min(len(line), levelReach)]); v != 0 {
				l.note(v, line)
			}
		}
		l.mid = i < 0
	}
}

func (l *levels) note(v level, line []byte) {
	l.counts[v]++
	if v > severe {
		return
	}
	if l.first.line == 0 {
		l.first = mark{l.line, quote(line)}
	}
	l.last = mark{l.line, quote(line)}
}

// quote is the beginning of a line, in whole characters.
func quote(line []byte) string {
	line = bytes.TrimRight(line, "\r")
	if len(line) <= quoted {
		return string(line)
	}
	line = line[:quoted]
	return string(line[:len(line)-incomplete(line)]) + "…"
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

// levelOf finds the level that a line tells: a word in capitals, a word in a
// place where levels stand, or klog's first letter.
func (l *levels) levelOf(line []byte) level {
	if v := klog(line); v != 0 {
		return v
	}
	var t uint
	for i, c := range line {
		t = triple(t, c)
		if l.begin[t/64]>>(t%64)&1 == 0 || i < 2 || i > 2 && l.word[line[i-3]] {
			continue
		}
		start, end := i-2, i
		for end < len(line) && l.word[line[end]] {
			end++
		}
		word := line[start:end]
		if len(word) <= 8 && (isUpper(word) || isLevelPlace(line, start, end)) {
			if v := named(word); v != 0 {
				return v
			}
		}
	}
	return 0
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
