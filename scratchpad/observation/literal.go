package observation

import (
	"bytes"
	"regexp/syntax"
	"slices"
)

// literal is a string to be found, by that byte of it which is the rarest in the
// content: looking for a byte is several times quicker than for a string.
type literal struct {
	text []byte
	rare int // place of that byte in text
	far  int // the end of text that is farther from it: what stands there tells more than a neighbour
}

// common says how near to each other, in bytes, the rare byte may stand for
// looking for it to pay.
const common = 32

// index gives where in b, from o on, the literal is first; len(b) for nowhere.
func (l literal) index(b []byte, o int) int {
	rare, far, n := l.text[l.rare], l.text[l.far], len(l.text)
	last := len(b) - n // where it can begin
	for at, tries := o, 1; at <= last; tries++ {
		k := bytes.IndexByte(b[at+l.rare:last+l.rare+1], rare)
		if k < 0 {
			break
		}
		at += k
		if b[at+l.far] == far && bytes.Equal(b[at:at+n], l.text) {
			return at
		}
		if at++; tries > 16 && tries*common > at-o {
			return indexFrom(b, l.text, at)
		}
	}
	return len(b)
}

// learn finds out which bytes of the literals are rare, from a sample.
func learn(list []literal, sample []byte) {
	var count [256]int
	for _, c := range sample {
		count[c]++
	}
	for i := range list {
		l := &list[i]
		for k, c := range l.text {
			if count[c] < count[l.text[l.rare]] {
				l.rare = k
			}
		}
		l.far = 0
		if last := len(l.text) - 1; last > 2*l.rare {
			l.far = last
		}
	}
}

// literals gives strings one of which is in every match, or nil.
func literals(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 || slices.Contains(re.Rune, '\ufffd') {
			return nil
		}
		return []string{string(re.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if l := literals(sub); worth(l) > worth(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := literals(sub)
			if l == nil {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// worth is how many bytes the shortest of a few literals has.
func worth(list []string) int {
	if len(list) == 0 || len(list) > 8 {
		return 0
	}
	least := len(list[0])
	for _, s := range list {
		least = min(least, len(s))
	}
	return least
}

// indexFrom is bytes.Index from o on, with len(b) for nowhere.
func indexFrom(b, s []byte, o int) int {
	if i := bytes.Index(b[o:], s); i >= 0 {
		return o + i
	}
	return len(b)
}

func lineEnd(b []byte, o int) int { return indexFrom(b, []byte{'\n'}, o) }

// bare is a line without the "\r" of "\r\n".
func bare(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }
