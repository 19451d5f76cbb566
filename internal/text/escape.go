package text

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Escaping writes whole characters, with control characters other than newline
// and tab escaped.
type Escaping struct {
	W    io.Writer
	part []byte // of a character whose rest is still to come
}

// Write holds the beginning of a character back until its rest comes.
func (e *Escaping) Write(p []byte) (int, error) {
	all := append(e.part, p...)
	whole := len(all)
	for i := max(0, len(all)-utf8.UTFMax+1); i < len(all); i++ {
		if utf8.RuneStart(all[i]) && !utf8.FullRune(all[i:]) {
			whole = i
		}
	}
	e.part = append([]byte(nil), all[whole:]...)
	var b strings.Builder
	for _, r := range string(all[:whole]) {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(Line(string(r), 1))
		}
	}
	if _, err := io.WriteString(e.W, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
