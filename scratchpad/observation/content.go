package observation

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Unit is what parts of a content are counted in.
type Unit string

// The units.
const (
	Bytes Unit = "bytes"      // from 0
	Chars Unit = "characters" // from 0; code points, and bytes that are part of none
	Lines Unit = "lines"      // from 1; a line ends with its newline
)

// Content is what an observation holds, to be read in parts. It is for one
// goroutine, and must be closed.
type Content struct {
	Entry
	s     *Store // nil for what another home shares, whose index is all in page
	small []byte // of one without a file
	file  *os.File
	page  []chunk // the page of the index that was read last
	first int     // number of its first chunk
	data  []byte  // chunk that was loaded last
	held  int     // its number; -1 for none
	coded []byte
	line  lineMark // where the line that was sought last begins
}

// get gives the content of an entry within what may be seen. Whatever the id is
// like, it takes the same one look.
func (s *Store) get(id string, see scope) (*Content, error) {
	c := &Content{s: s, held: -1}
	row := s.row(`SELECT `+columns+`, content FROM entries WHERE id = ? AND `+see.where, append([]any{id}, see.args...)...)
	err := c.Entry.scan(row, &c.small)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read observation %s: %w", id, s.explain(err))
	}
	if c.Entry.file == "" {
		c.small = append([]byte{}, c.small...)
		c.page = []chunk{{size: measure(c.small)}}
		c.data, c.held = c.small, 0
		return c, nil
	}
	c.file, err = os.Open(filepath.Join(s.dir, contents, c.Entry.file))
	if errors.Is(err, fs.ErrNotExist) { // removed a moment ago
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read observation %s: %w", id, err)
	}
	return c, nil
}

// Close ends the use of the content.
func (c *Content) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Total is how many of a unit there are.
func (c *Content) Total(u Unit) int64 {
	switch u {
	case Bytes:
		return c.Entry.Bytes
	case Chars:
		return c.Runes
	}
	return c.Entry.Lines
}

// readPage reads the page of the index that holds the chunk where x of a column
// is. The columns are byte, rune, line and k.
func (c *Content) readPage(column string, x int64) error {
	if c.file == nil || c.s == nil {
		return nil
	}
	var p page
	err := c.s.row(`SELECT k, byte, rune, line, offset, sizes FROM chunks WHERE entry = ? AND `+column+
		` <= ? ORDER BY k DESC LIMIT 1`, c.n, x).Scan(&p.k, &p.byte, &p.rune, &p.line, &p.offset, &p.sizes)
	if errors.Is(err, sql.ErrNoRows) { // removed while it was read
		return ErrNotFound
	}
	if err != nil {
		return c.wrap(c.s.explain(err))
	}
	c.page, c.first = p.chunks(), p.k
	return nil
}

func (c *Content) wrap(err error) error {
	if err == nil || errors.Is(err, ErrNotFound) {
		return err
	}
	return fmt.Errorf("read observation %s: %w", c.ID, err)
}

// find gives the number of the chunk in which unit number x, from 0, begins, or
// in which the newline before it is.
func (c *Content) find(u Unit, x int64) (int, error) {
	by, column := Bytes, "byte"
	switch {
	case u == Chars:
		by, column = Chars, "rune"
	case u == Lines && x > 0:
		by, column, x = Lines, "line", x-1
	}
	if !c.onPage(by, x) {
		if err := c.readPage(column, x); err != nil {
			return 0, err
		}
	}
	k := 0
	for k+1 < len(c.page) && c.page[k+1].at(by) <= x {
		k++
	}
	return c.first + k, nil
}

// onPage says whether the page that was read last holds the chunk where x is.
func (c *Content) onPage(u Unit, x int64) bool {
	if len(c.page) == 0 {
		return false
	}
	last := c.page[len(c.page)-1]
	end := last.place
	end.advance(last.size)
	return c.page[0].at(u) <= x && x < end.at(u)
}

func (p place) at(u Unit) int64 {
	switch u {
	case Bytes:
		return p.byte
	case Chars:
		return p.rune
	}
	return p.line
}

// chunk gives what the index says of chunk k; false after the last.
func (c *Content) chunk(k int) (chunk, bool, error) {
	if k < c.first || k >= c.first+len(c.page) {
		if c.file == nil || c.s == nil {
			return chunk{}, false, nil
		}
		if err := c.readPage("k", int64(k)); err != nil {
			return chunk{}, false, err
		}
		if k >= c.first+len(c.page) {
			return chunk{}, false, nil
		}
	}
	return c.page[k-c.first], true, nil
}

// load gives chunk k and its bytes, which hold until the next load; false after
// the last chunk.
func (c *Content) load(k int) (chunk, []byte, bool, error) {
	ch, ok, err := c.chunk(k)
	if err != nil || !ok || c.held == k {
		return ch, c.data, ok, err
	}
	c.held = -1
	if c.data, err = c.read(ch, c.data[:0], &c.coded); err != nil {
		return ch, nil, false, c.wrap(err)
	}
	c.held = k
	return ch, c.data, true, nil
}

// read appends the bytes of a chunk to out; coded is room for compressed ones.
func (c *Content) read(ch chunk, out []byte, coded *[]byte) ([]byte, error) {
	if c.file == nil {
		return append(out, c.small...), nil
	}
	n := len(out)
	if c.codec == Raw {
		out = grow(out, n+ch.bytes)
		_, err := c.file.ReadAt(out[n:], ch.offset)
		return out, err
	}
	if err := c.fetch(ch, coded); err != nil {
		return out, err
	}
	return c.decode(ch, *coded, out)
}

// fetch reads a chunk as it is stored.
func (c *Content) fetch(ch chunk, coded *[]byte) error {
	*coded = grow((*coded)[:0], ch.stored)
	_, err := c.file.ReadAt(*coded, ch.offset)
	return err
}

// decode appends the bytes of a compressed chunk to out.
func (c *Content) decode(ch chunk, coded, out []byte) ([]byte, error) {
	dec, err := c.s.decoder()
	if err != nil {
		return out, err
	}
	n := len(out)
	out, err = dec.DecodeAll(coded, grow(out, n+ch.bytes)[:n])
	if err == nil && len(out)-n != ch.bytes {
		err = errors.New("the file is not what the index says")
	}
	return out, err
}

// grow gives p, which is not longer, the length n.
func grow(p []byte, n int) []byte { return slices.Grow(p, n-len(p))[:n] }

// WriteTo writes all of the content, in constant memory.
func (c *Content) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, c.Reader()) }

// Reader reads all of the content from its beginning, in constant memory.
func (c *Content) Reader() io.Reader { return &reader{c: c} }

// reader gives chunk after chunk. It has a buffer of its own, so that the
// content can be read elsewhere meanwhile.
type reader struct {
	c           *Content
	k           int
	rest        []byte
	data, coded []byte
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		ch, ok, err := r.c.chunk(r.k)
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, io.EOF
		}
		if r.data, err = r.c.read(ch, r.data[:0], &r.coded); err != nil {
			return 0, r.c.wrap(err)
		}
		r.rest = r.data
		r.k++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
