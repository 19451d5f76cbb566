package tools

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// Copied says what [Copy] passed on.
type Copied struct {
	// Bytes is how many were read.
	Bytes int64
	// Lines is how many lines they are; a last one without a line break counts.
	Lines int64
	// Encoding is "utf-8" or "binary": bytes that are not UTF-8, or a NUL.
	Encoding string
	// Truncated says that there was more than the limit.
	Truncated bool
	// Note says so of a text, in brackets, to be shown after it; else empty.
	Note string
}

// Copy passes what r gives to w, at most limit bytes of it, as they are and in
// constant memory, and says whether they are text. A text that the limit cuts
// within a character ends before it. An error is that of r or of w; what was
// copied until then is still true.
func Copy(w io.Writer, r io.Reader, limit int64) (Copied, error) {
	c := copier{w: w}
	_, err := io.Copy(&c, io.LimitReader(r, limit))
	if err == nil && c.read >= limit {
		var more int
		if more, err = io.ReadFull(r, make([]byte, 1)); err == io.EOF {
			err = nil
		}
		c.truncated = more > 0
	}
	if err == nil && !c.truncated { // then what is left of a character is no text
		c.binary = c.binary || len(c.rest) > 0
		err = c.pass(c.rest)
	}
	return c.report(), err
}

// copier is one copy under way.
type copier struct {
	w io.Writer

	read      int64
	passed    int64
	breaks    int64  // line breaks passed
	last      byte   // of what was passed
	rest      []byte // a character that the last read cut
	binary    bool
	truncated bool
}

func (c *copier) Write(p []byte) (int, error) {
	c.read += int64(len(p))
	all := p
	if len(c.rest) > 0 {
		all = append(c.rest, p...)
	}
	whole := c.inspect(all)
	c.rest = bytes.Clone(all[whole:])
	return len(p), c.pass(all[:whole])
}

// inspect looks for what is not text, and gives how many bytes of p can be
// passed on: not those of a character that may go on in the next read.
func (c *copier) inspect(p []byte) int {
	if c.binary {
		return len(p)
	}
	good := textPrefix(p)
	if good == len(p) || !utf8.FullRune(p[good:]) {
		return good
	}
	c.binary = true
	return len(p)
}

func (c *copier) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c.passed += int64(len(p))
	c.breaks += int64(bytes.Count(p, []byte{'\n'}))
	c.last = p[len(p)-1]
	_, err := c.w.Write(p)
	return err
}

func (c *copier) report() Copied {
	out := Copied{Bytes: c.read, Lines: c.breaks, Encoding: "utf-8", Truncated: c.truncated}
	if c.passed > 0 && c.last != '\n' {
		out.Lines++
	}
	switch {
	case c.binary:
		out.Encoding = "binary"
	case c.truncated:
		out.Note = fmt.Sprintf("\n[CUT after %d bytes]", c.read)
	}
	return out
}

// textPrefix is how many bytes of p are text: valid UTF-8 without a NUL.
func textPrefix(p []byte) int {
	if i := bytes.IndexByte(p, 0); i >= 0 {
		p = p[:i]
	}
	if utf8.Valid(p) {
		return len(p)
	}
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(p)
}
