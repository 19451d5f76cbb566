package text

import "io"

// Capped is a writer that passes the first n bytes on to w and lets the rest go. It never
// says that it wrote less.
func Capped(w io.Writer, n int) io.Writer { return &capped{w, n} }

type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, err := c.w.Write(p[:n])
	return len(p), err
}
