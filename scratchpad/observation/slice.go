package observation

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"rouse/internal/text"
)

// Part is a part of a content.
type Part struct {
	Unit Unit
	// Start is that of the first unit, End that after the last one given: the
	// start of the next part, unless it is past the last.
	Start, End int64
	Total      int64 // units in the whole content
	Data       []byte
	Char       int64 // number of the character with which Data begins
	Cut        bool  // Data is only the beginning of the one line asked for
}

// Span gives the part that a mode of reading means, for [Content.Slice]: head or
// tail (n characters), range or lines (from start up to end), or full. "" is
// head. A number that is 0 has a default: n is 2,000, and the end is n characters
// or 100 lines on. Binary content is read by bytes, in lines only if they are
// asked for.
func (c *Content) Span(mode string, n, start, end int64) (u Unit, from, to int64, err error) {
	u, n = Chars, cmp.Or(max(n, 0), 2000)
	if c.Kind == Binary {
		u = Bytes
	}
	total := c.Total(u)
	switch mode {
	case "", "head":
		return u, 0, n, nil
	case "tail":
		return u, max(0, total-n), total, nil
	case "range":
		return u, start, cmp.Or(end, start+n), nil
	case "lines":
		start = max(start, 1)
		return Lines, start, cmp.Or(end, start+100), nil
	case "full":
		return u, 0, total, nil
	}
	return u, 0, 0, fmt.Errorf("mode %q: use head, tail, range, lines, full, grep or json", mode)
}

// Slice gives the units from start up to end, which is not included, and at most
// limit bytes. Numbers outside of the content are brought inside. No character
// is cut in half. A line longer than limit is cut, and its rest can be read by
// characters.
func (c *Content) Slice(u Unit, start, end int64, limit int) (Part, error) {
	if u != Bytes && u != Chars && u != Lines {
		return Part{}, fmt.Errorf("read observation %s: unit %q is not one of bytes, characters and lines", c.ID, u)
	}
	base := int64(0)
	if u == Lines {
		base = 1
	}
	total := c.Total(u)
	p := Part{Unit: u, Total: total}
	p.Start = min(max(start, base), total+base)
	p.End = min(max(end, p.Start), total+base)
	limit = max(limit, utf8.UTFMax)
	p.Data = []byte{}
	if p.Start == p.End || total == 0 {
		p.Char = c.Runes
		p.End = p.Start
		return p, nil
	}
	want := p.End - p.Start
	k, skip, err := c.seek(u, p.Start-base, &p.Char)
	for err == nil && want > 0 {
		var data []byte
		var ok bool
		if _, data, ok, err = c.load(k); err != nil || !ok {
			break
		}
		n, units := take(u, data[skip:], want)
		if len(p.Data)+n > limit {
			p.Data = append(p.Data, data[skip:skip+n]...)
			p.shorten(limit)
			return p, nil
		}
		p.Data = append(p.Data, data[skip:skip+n]...)
		want -= units
		k, skip = k+1, 0
	}
	return p, err
}

// seek finds unit number x, from 0: its chunk, where in the chunk it begins, and
// the number of the character there.
func (c *Content) seek(u Unit, x int64, char *int64) (k, skip int, err error) {
	if k, err = c.find(u, x); err != nil {
		return 0, 0, err
	}
	ch, data, ok, err := c.load(k)
	if err != nil || !ok {
		return 0, 0, err
	}
	if u == Lines && c.line.before(k, x) { // lines are read in their order
		n, _ := take(u, data[c.line.skip:], x-c.line.x)
		skip, *char = c.line.skip+n, c.line.char+int64(countRunes(data[c.line.skip:][:n]))
	} else {
		skip, _ = take(u, data, x-ch.at(u))
		*char = ch.rune + int64(charsBefore(data, skip))
	}
	if u == Lines {
		c.line = lineMark{k, skip, x, *char}
	}
	return k, skip, nil
}

// lineMark is where a line begins: its number from 0, the chunk, the place in
// the chunk, and the number of its first character.
type lineMark struct {
	k, skip int
	x, char int64
}

// before says whether line x of chunk k is the marked one or after it.
func (m lineMark) before(k int, x int64) bool { return m.skip > 0 && m.k == k && m.x <= x }

// charsBefore counts the characters that begin before p[n].
func charsBefore(p []byte, n int) int {
	part := text.Incomplete(p[:n])
	if part > 0 {
		if _, w := utf8.DecodeRune(p[n-part:]); w > part {
			return countRunes(p[:n-part]) + 1
		}
	}
	return countRunes(p[:n])
}

func countRunes(p []byte) int {
	if isASCII(p) {
		return len(p)
	}
	return utf8.RuneCount(p)
}

// take gives how many bytes of p are its first units, at most want, and how many
// units end there.
func take(u Unit, p []byte, want int64) (n int, units int64) {
	switch u {
	case Bytes:
		units = min(want, int64(len(p)))
		return int(units), units
	case Chars:
		return takeRunes(p, want)
	}
	for units < want {
		i := bytes.IndexByte(p[n:], '\n')
		if i < 0 {
			return len(p), units
		}
		n, units = n+i+1, units+1
	}
	return n, units
}

func takeRunes(p []byte, want int64) (n int, units int64) {
	if isASCII(p[:min(int64(len(p)), want)]) {
		units = min(want, int64(len(p)))
		return int(units), units
	}
	for n < len(p) && units < want {
		if p[n] < utf8.RuneSelf {
			n++
		} else {
			_, w := utf8.DecodeRune(p[n:])
			n += w
		}
		units++
	}
	return n, units
}

// shorten brings a part that came out too large down to limit bytes.
func (p *Part) shorten(limit int) {
	whole := p.Data[:limit]
	switch p.Unit {
	case Bytes:
		p.End = p.Start + int64(limit)
	case Chars:
		whole = whole[:limit-text.Incomplete(whole)]
		p.End = p.Start + int64(countRunes(whole))
	case Lines:
		if i := bytes.LastIndexByte(whole, '\n'); i >= 0 {
			whole = whole[:i+1]
			p.End = p.Start + int64(bytes.Count(whole, []byte{'\n'}))
			break
		}
		whole = whole[:limit-text.Incomplete(whole)]
		p.End, p.Cut = p.Start+1, true
	}
	p.Data = whole
}
