package observation

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// window puts into the line the part of data that is about byte number at, of at
// most n characters. data ends with the line or before it.
func (l *Line) window(data []byte, at, n int) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		data = data[:i]
	}
	for len(data) > 0 && !utf8.RuneStart(data[0]) { // the rest of a character
		data, at = data[1:], at-1
	}
	total := countRunes(data)
	if total <= n {
		l.Text = string(bytes.ToValidUTF8(data, []byte("\ufffd")))
		return
	}
	skip := max(0, min(countRunes(data[:min(max(at, 0), len(data))])-n/4, total-n))
	start, _ := takeRunes(data, int64(skip))
	width, _ := takeRunes(data[start:], int64(n))
	l.Char += int64(skip)
	l.Cut = true
	l.Text = string(bytes.ToValidUTF8(data[start:start+width], []byte("\ufffd")))
}

// lineReader reads the first line of some chunks, without its end, as runes.
type lineReader struct {
	c           *Content
	chunks      []chunk
	data, coded []byte
	rest        []byte
	err         error
}

// fill sees to it that rest is not empty.
func (r *lineReader) fill() error {
	for len(r.rest) == 0 && r.err == nil {
		if len(r.chunks) == 0 {
			r.err = io.EOF
			break
		}
		r.data, r.err = r.c.read(r.chunks[0], r.data[:0], &r.coded)
		r.chunks, r.rest = r.chunks[1:], r.data
	}
	return r.err
}

// ReadRune gives the next character of the line, io.EOF at its end.
func (r *lineReader) ReadRune() (rune, int, error) {
	if err := r.fill(); err != nil {
		return 0, 0, err
	}
	switch c := r.rest[0]; {
	case c == '\n':
		return 0, 0, io.EOF
	case c == '\r':
		r.rest = r.rest[1:]
		if err := r.fill(); err != nil && err != io.EOF {
			return 0, 0, err
		}
		if len(r.rest) == 0 || r.rest[0] == '\n' {
			r.rest, r.err = nil, io.EOF
			return 0, 0, io.EOF
		}
		return '\r', 1, nil
	case c < utf8.RuneSelf:
		r.rest = r.rest[1:]
		return rune(c), 1, nil
	}
	c, n := utf8.DecodeRune(r.rest)
	r.rest = r.rest[n:]
	return c, n, nil
}

// inStream finds the pattern in a line that open begins to read, and gives the
// byte of the line where it is, or -1.
func (p *pattern) inStream(open func() *lineReader) (int64, error) {
	if len(p.literals) > 0 {
		at, err := open().index(p.literals)
		if err != nil || at < 0 || p.pure {
			return at, err
		}
	}
	r := open()
	m := p.re.FindReaderIndex(r)
	if r.err != nil && r.err != io.EOF {
		return 0, r.err
	}
	if m == nil {
		return -1, nil
	}
	return int64(m[0]), nil
}

// index finds the first of some literals in the line, and gives its byte, or -1.
func (r *lineReader) index(literals []literal) (int64, error) {
	keep := 0
	for _, s := range literals {
		keep = max(keep, len(s.text)-1)
	}
	var base int64 // of buf in the line
	var buf []byte
	for {
		if err := r.fill(); err == io.EOF {
			return -1, nil
		} else if err != nil {
			return 0, err
		}
		end := lineEnd(r.rest, 0)
		over := end < len(r.rest)
		buf, r.rest = append(buf, r.rest[:end]...), nil
		first := len(buf)
		for _, s := range literals {
			first = min(first, s.index(buf, 0))
		}
		if first < len(buf) {
			return base + int64(first), nil
		}
		if over {
			return -1, nil
		}
		drop := max(0, len(buf)-keep)
		base, buf = base+int64(drop), append(buf[:0], buf[drop:]...)
	}
}
