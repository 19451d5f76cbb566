package redact

import (
	"io"
	"strings"
	"sync"

	"rouse/internal/text"
)

// A part of a text can hold a part of a secret, which nobody knows for one. So
// what is cut is redacted before, or by one of these.

// Reach is how far around a part one has to look for the secrets that reach into
// it, in bytes; 0 if there are none to be found.
func (r *Redactor) Reach() int {
	if r.free() {
		return 0
	}
	return r.matcher().longest
}

// Window returns what stands between two places of s, without the secrets that
// reach into it. Beyond both there should be [Redactor.Reach] bytes.
func (r *Redactor) Window(s string, from, to int) string {
	if r.free() {
		return s[from:to]
	}
	return r.matcher().window(s, from, to)
}

// Found says whether there is a secret in what src gives.
func (r *Redactor) Found(src io.WriterTo) (bool, error) {
	if r.free() {
		return false, nil
	}
	w := &writer{m: r.matcher(), w: io.Discard}
	if _, err := src.WriteTo(w); err != nil {
		return false, err
	}
	return w.found, w.Close()
}

// Cut tells a writer of [Redactor.Writer] that what was written is cut here: what
// may be the beginning of a secret, whose end never comes, is left out. Other
// writers do not mind.
func Cut(w io.Writer) {
	if w, ok := w.(*writer); ok {
		w.buf, w.covered = w.buf[:0], 0
	}
}

// Tail keeps the end of what is written to it, without secrets: those that its
// beginning would cut are gone before. It may be used by several goroutines.
type Tail struct {
	mu    sync.Mutex
	clean io.Writer // what may become a secret waits there
	end   text.Ends
}

// NewTail returns a Tail of at most limit bytes.
func (r *Redactor) NewTail(limit int) *Tail {
	t := &Tail{end: text.Ends{Tail: limit}}
	t.clean = r.Writer(&t.end)
	return t
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clean.Write(p)
}

// String is what is kept, as UTF-8; an ellipsis stands before what was cut.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, tail, left := t.end.Kept()
	said := strings.ToValidUTF8(string(tail), "\uFFFD")
	if left > 0 {
		return "…" + said
	}
	return said
}
