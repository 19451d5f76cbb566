package journal

import (
	"crypto/sha256"
	"encoding/hex"
)

// Vouched says that a person vouched for lines that the chain does not prove.
type Vouched struct {
	Lines int    `json:"lines"`
	Sum   string `json:"sha256"` // of the lines, each with a line feed
	// Applied are the keys of the memory that changed for them, and Kept those that
	// stayed as they were, as they had changed since.
	Applied []string `json:"applied,omitempty"`
	Kept    []string `json:"kept,omitempty"`
}

// Doubts gathers the lines of a journal that are in doubt and that nobody has
// vouched for.
type Doubts []Line

// Add takes the next line. A proven sleep that vouches for just the lines so far
// ends the doubts; who changes one of them brings them all back.
func (d *Doubts) Add(l Line) {
	if l.Doubt != "" {
		*d = append(*d, l)
		return
	}
	if s, ok := l.Data.(*Sleep); ok && s.Vouched != nil && s.Vouched.Sum == d.Sum() {
		*d = nil
	}
}

// Sum is the SHA-256 of the lines, in hexadecimal.
func (d Doubts) Sum() string {
	h := sha256.New()
	for _, l := range d {
		h.Write(append(l.Line, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))
}
