// Package erase takes one value out of files, in each form in which it may stand there.
//
// Those are the forms of package redact, and what YAML, and any depth of JSON in JSON,
// make of quotes, line breaks and letters beyond ASCII. In a text a mark takes its
// place; in what is no text as many bytes as it had.
package erase

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"rouse/internal/lazy"
	"rouse/internal/redact"
	"rouse/internal/text"
)

// Mark is what a value leaves: a word to YAML, JSON and shells alike.
const Mark = "FORGOTTEN"

// Eraser takes a value out.
type Eraser struct {
	forms [][]byte
	loose *regexp.Regexp // nil where no form has more than one spelling
	mark  []byte
	reach int // that no form is longer than
}

// ErrShort refuses a value.
var ErrShort = errors.New("what is to be forgotten is a text of at least 8 characters: less is part of harmless ones")

// New gives an eraser of a value, white space around it aside.
func New(value string) (*Eraser, error) {
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) < redact.MinLength || !utf8.ValidString(value) {
		return nil, ErrShort
	}
	e := &Eraser{mark: []byte(Mark), reach: 16*len(value) + 1<<10}
	forms := redact.Forms(value)
	slices.Sort(forms)
	for _, f := range slices.Compact(forms) {
		e.forms = append(e.forms, []byte(f))
	}
	if strings.Trim(value, "0123456789.") == "" { // which may stand as a number
		e.mark = append([]byte("1"), bytes.Repeat([]byte("0"), len(value)-1)...)
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c >= utf8.RuneSelf || unicode.IsSpace(c) || strings.ContainsRune(`"'\/`, c) }) {
		e.loose = regexp.MustCompile(loosely(value))
	}
	return e, nil
}

// loosely is a regular expression for what quoting, folding and escaping make of a value.
func loosely(value string) string {
	var b strings.Builder
	space := false
	for _, c := range value {
		if unicode.IsSpace(c) {
			if !space {
				b.WriteString(`(?:\s|\\+[ntr]|\\+\s)+`)
			}
			space = true
			continue
		}
		space = false
		quoted := regexp.QuoteMeta(string(c))
		switch {
		case c == '\'':
			b.WriteString(`\\*''?`)
		case c == '\\':
			b.WriteString(`\\+`)
		case c == '"' || c == '/':
			b.WriteString(`\\*` + quoted)
		case c > 0xffff:
			fmt.Fprintf(&b, `(?:%s|\\+(?i:U%08x))`, quoted, c)
		case c >= utf8.RuneSelf:
			fmt.Fprintf(&b, `(?:%s|\\+(?i:u%04x|x%02x))`, quoted, c, c)
		default:
			b.WriteString(quoted)
		}
	}
	return b.String()
}

// spans are where the value stands, in order and apart.
func (e *Eraser) spans(b []byte) (all [][]int) {
	for _, f := range e.forms {
		for at := 0; ; {
			i := bytes.Index(b[at:], f)
			if i < 0 {
				break
			}
			all = append(all, []int{at + i, at + i + len(f)})
			at += i + len(f)
		}
	}
	if e.loose != nil {
		all = append(all, e.loose.FindAllIndex(b, -1)...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i][0] < all[j][0] })
	apart := all[:0]
	for _, s := range all {
		if n := len(apart); n > 0 && s[0] < apart[n-1][1] {
			apart[n-1][1] = max(apart[n-1][1], s[1])
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// Bytes gives b without the value, and how often it stood there.
func (e *Eraser) Bytes(b []byte) (out []byte, hits int) {
	spans := e.spans(b)
	if len(spans) == 0 {
		return b, 0
	}
	return e.without(b, spans, isBinary(b)), len(spans)
}

// String is [Eraser.Bytes] for a text.
func (e *Eraser) String(s string) string {
	out, _ := e.Bytes([]byte(s))
	return string(out)
}

func (e *Eraser) without(b []byte, spans [][]int, binary bool) (out []byte) {
	at := 0
	for _, s := range spans {
		out = append(out, b[at:s[0]]...)
		if at = s[1]; binary {
			out = append(out, bytes.Repeat([]byte("x"), s[1]-s[0])...)
		} else {
			out = append(out, e.mark...)
		}
	}
	return append(out, b[at:]...)
}

func isBinary(b []byte) bool {
	return bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b[:len(b)-text.Incomplete(b)])
}

// block is how much is looked at together, beside what may reach into it.
const block = 1 << 20

// Reader reads without the value, and counts how often that stood there.
type Reader struct {
	Hits int

	e           *Eraser
	r           io.Reader
	buf, out    []byte
	begun, over bool
	binary      bool
}

// Reader takes the value out of what r gives, which may be of any size.
func (e *Eraser) Reader(r io.Reader) *Reader { return &Reader{e: e, r: r} }

// Read gives what is left of the text.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.over && len(r.buf) == 0 {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill reads on, and lets out what nothing that follows can change.
func (r *Reader) fill() error {
	had := len(r.buf)
	r.buf = append(r.buf, make([]byte, block+r.e.reach-min(had, r.e.reach))...)
	n, err := io.ReadFull(r.r, r.buf[had:])
	r.buf = r.buf[:had+n]
	if r.over = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !r.over {
		return err
	}
	if !r.begun {
		r.binary, r.begun = isBinary(r.buf), true
	}
	end := len(r.buf)
	spans := r.e.spans(r.buf)
	if !r.over {
		end -= r.e.reach
		for len(spans) > 0 && spans[len(spans)-1][1] > end { // it may go on
			end = min(end, spans[len(spans)-1][0])
			spans = spans[:len(spans)-1]
		}
	}
	r.Hits += len(spans)
	r.out = r.e.without(r.buf[:end], spans, r.binary)
	r.buf = append([]byte(nil), r.buf[end:]...)
	return nil
}

// Sums says what became of contents, by the SHA-256 that they had, in hexadecimal.
type Sums map[string]Sum

// Sum is what a content is now.
type Sum struct {
	Sum  string `json:"sha256"`
	Size int64  `json:"size"`
}

// Look reads a content and says how often the value stands there. What it would be
// without it is put down in sums.
func (e *Eraser) Look(r io.Reader, sums Sums) (hits int, err error) {
	was, is := sha256.New(), sha256.New()
	in := e.Reader(io.TeeReader(r, was))
	n, err := io.Copy(is, in)
	if in.Hits > 0 && sums != nil {
		sums[hex.EncodeToString(was.Sum(nil))] = Sum{hex.EncodeToString(is.Sum(nil)), n}
	}
	return in.Hits, err
}

var hexed = lazy.Regexp{Expr: `\b[0-9a-f]{64}\b`}

// Rename puts what contents are now in the place of what they were, where a text names
// them.
func (s Sums) Rename(b []byte) []byte {
	if len(s) == 0 {
		return b
	}
	return hexed.Get().ReplaceAllFunc(b, func(sum []byte) []byte {
		for range len(s) {
			now, ok := s[string(sum)]
			if !ok {
				break
			}
			sum = []byte(now.Sum)
		}
		return sum
	})
}
