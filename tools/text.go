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
	c := copier{w: w, limit: limit}
	err := c.copy(&io.LimitedReader{R: r, N: limit})
	if err == nil {
		err = c.probe(r)
	}
	return c.report(), err
}

// copier is one copy under way.
type copier struct {
	w     io.Writer
	limit int64

	read      int64
	passed    int64
	breaks    int64  // line breaks passed
	last      byte   // of what was passed
	rest      []byte // a character that the last read cut
	binary    bool
	truncated bool
}

func (c *copier) copy(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		kept := copy(buf, c.rest)
		n, readErr := fill(r, buf[kept:])
		c.read += int64(n)
		p := buf[:kept+n]
		whole := c.inspect(p)
		c.rest = p[whole:]
		if err := c.pass(p[:whole]); err != nil {
			return err
		}
		if readErr != nil {
			return ignoreEOF(readErr)
		}
	}
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

// probe asks whether there is more than the limit. What is left of a character
// that nothing follows is no text.
func (c *copier) probe(r io.Reader) error {
	if c.read >= c.limit {
		n, err := fill(r, make([]byte, 1))
		if c.truncated = n > 0; c.truncated || ignoreEOF(err) != nil {
			return ignoreEOF(err)
		}
	}
	c.binary = c.binary || len(c.rest) > 0
	return c.pass(c.rest)
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

// fill reads until p is full or r ends. Unlike [io.ReadFull] it leaves r's own
// [io.ErrUnexpectedEOF] apart from an end.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
