package tools

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net/http"
	"unicode/utf8"
)

// Copied says what [CopyText] read.
type Copied struct {
	// Bytes is how many were read, text or not.
	Bytes int64
	// Lines is how many lines the text has; a last one without a line break
	// counts. It is 0 for what is not text.
	Lines int64
	// Encoding is "utf-8" or "binary".
	Encoding string
	// Truncated says that there was more than the limit.
	Truncated bool
	// Note stands for what was not passed on, in brackets, to be shown after
	// the text; empty if all of it was.
	Note string
}

// CopyText passes UTF-8 text from r to w, at most limit bytes of it, in constant
// memory. What is not text (a NUL or a byte that is not UTF-8) is read to its
// end for its size and SHA-256, but not passed on: from the first such byte on,
// or none of it if that byte is in the first 64 KiB. An error is that of r or
// of w; what was copied until then is still true.
func CopyText(w io.Writer, r io.Reader, limit int64) (Copied, error) {
	c := copier{w: w, sum: sha256.New(), limit: limit}
	err := c.copy(&io.LimitedReader{R: r, N: limit})
	if err == nil {
		err = c.probe(r)
	}
	return c.report(), err
}

// copier is one copy under way.
type copier struct {
	w     io.Writer
	sum   hash.Hash
	limit int64

	head      []byte // the first 512 bytes, which tell the type
	read      int64
	passed    int64
	lines     int64
	last      byte // of what was passed
	kept      int  // bytes of a character that the last read cut
	binary    bool
	truncated bool
}

func (c *copier) copy(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, readErr := fill(r, buf[c.kept:])
		p := buf[:c.kept+n]
		c.account(p[c.kept:])
		whole, err := c.pass(p, readErr == io.EOF && c.read < c.limit)
		if err != nil {
			return err
		}
		c.kept = copy(buf, p[whole:])
		if readErr != nil {
			return ignoreEOF(readErr)
		}
	}
}

func (c *copier) account(p []byte) {
	c.head = append(c.head, p[:min(len(p), 512-len(c.head))]...)
	c.sum.Write(p)
	c.read += int64(len(p))
}

// pass writes the whole characters of p, and reports how many bytes are dealt
// with: not those of a character that may go on in the next read, unless p is
// the last. Once p is not text it takes everything and writes nothing more.
func (c *copier) pass(p []byte, last bool) (int, error) {
	if c.binary {
		return len(p), nil
	}
	good := textPrefix(p)
	done := good
	if good < len(p) && (last || utf8.FullRune(p[good:])) {
		c.binary, done = true, len(p)
	}
	if good == 0 || c.binary && c.passed == 0 {
		return done, nil
	}
	c.passed += int64(good)
	c.lines += int64(bytes.Count(p[:good], []byte{'\n'}))
	c.last = p[good-1]
	_, err := c.w.Write(p[:good])
	return done, err
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

// probe asks whether there is more than the limit.
func (c *copier) probe(r io.Reader) error {
	if c.read < c.limit {
		return nil
	}
	n, err := fill(r, make([]byte, 1))
	c.truncated = n > 0
	c.binary = c.binary || c.kept > 0 && n == 0
	return ignoreEOF(err)
}

func (c *copier) report() Copied {
	out := Copied{Bytes: c.read, Encoding: "utf-8", Truncated: c.truncated, Lines: c.lines}
	if c.passed > 0 && c.last != '\n' {
		out.Lines++
	}
	cut := ""
	if c.truncated {
		cut = ", cut there"
		out.Note = fmt.Sprintf("\n[CUT after %d bytes]", c.read)
	}
	if !c.binary {
		return out
	}
	out.Encoding, out.Lines = "binary", 0
	kind := http.DetectContentType(c.head)
	if c.passed == 0 {
		out.Note = fmt.Sprintf("[BINARY: %d bytes%s, sha256=%x, %s]", c.read, cut, c.sum.Sum(nil), kind)
	} else {
		out.Note = fmt.Sprintf("\n[BINARY from byte %d on: %d bytes%s, sha256=%x, %s]",
			c.passed, c.read, cut, c.sum.Sum(nil), kind)
	}
	return out
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
