package text

import "io"

// Escaping writes whole characters, with control characters other than newline
// and tab escaped.
type Escaping struct {
	W    io.Writer
	part []byte // of a character whose rest is still to come
}

// Write holds the beginning of a character back until its rest comes.
func (e *Escaping) Write(p []byte) (int, error) {
	all := append(e.part, p...)
	whole := len(all) - Incomplete(all)
	e.part = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(e.W, Block(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
