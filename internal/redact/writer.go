package redact

import "io"

// Writer returns a writer that passes what is written to it on to w, without
// secrets, however the chunks cut them. What may be the beginning of a secret is
// held back until more is written, or until Close; that is less than the longest
// form of a secret. Close does not close w. The writer is for one goroutine.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	if r.free() {
		return passOn{w}
	}
	return &writer{m: r.matcher(), w: w}
}

// maxPiece bounds the memory of a writer: a longer chunk is cut.
const maxPiece = 32 << 10

type writer struct {
	m       *matcher
	w       io.Writer
	buf     []byte // not yet passed on
	found   bool
	covered int // bytes of buf that belong to a secret already replaced
	out     []byte
}

func (w *writer) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		piece := p[n:min(len(p), n+maxPiece)]
		w.buf = append(w.buf, piece...)
		if err := w.pass(w.m.hold(view(w.buf))); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

func (w *writer) Close() error { return w.pass(len(w.buf)) }

// pass redacts the text up to limit, passes it on, and keeps the rest.
func (w *writer) pass(limit int) error {
	out, done := w.m.replace(w.out[:0], view(w.buf), w.covered, limit)
	w.found = w.found || len(out) > 0
	clean := out
	switch {
	case done >= limit:
	case len(out) == 0:
		clean = w.buf[done:limit]
	default:
		out = append(out, w.buf[done:limit]...)
		clean = out
	}
	var err error
	if len(clean) > 0 {
		_, err = w.w.Write(clean)
	}
	w.out = out
	w.covered = max(0, done-limit)
	w.buf = w.buf[:copy(w.buf, w.buf[limit:])]
	return err
}

type passOn struct{ io.Writer }

func (passOn) Close() error { return nil }
