package text

import "unicode/utf8"

// Ends keeps the beginning and the end of what is written to it, in bounded
// memory whatever it is given.
type Ends struct {
	Head, Tail int   // how many bytes of each are kept
	Total      int64 // how many were written

	head, tail []byte
}

// Write never fails.
func (e *Ends) Write(p []byte) (int, error) {
	n := len(p)
	e.Total += int64(n)
	fit := min(n, e.Head-len(e.head))
	e.head, p = append(e.head, p[:fit]...), p[fit:]
	e.tail = append(e.tail, p[max(0, len(p)-e.Tail):]...)
	if len(e.tail) > 2*e.Tail {
		e.tail = append(e.tail[:0], e.end()...)
	}
	return n, nil
}

func (e *Ends) end() []byte { return e.tail[max(0, len(e.tail)-e.Tail):] }

// Kept gives both, which hold until the next Write, and how many bytes are left
// out between them.
func (e *Ends) Kept() (head, tail []byte, left int64) {
	tail = e.end()
	return e.head, tail, e.Total - int64(len(e.head)+len(tail))
}

// Incomplete gives how many bytes at the end of p begin a character that is not
// all there.
func Incomplete(p []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(p)); n++ {
		if utf8.RuneStart(p[len(p)-n]) {
			if utf8.FullRune(p[len(p)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
