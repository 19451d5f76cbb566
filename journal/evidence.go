package journal

import (
	"fmt"
	"slices"

	"rouse/internal/text"
)

// Evidence is what the model quotes for what it says.
type Evidence struct {
	Step  int    `json:"step"` // whose result it quotes
	Quote string `json:"quote"`
	// Unsupported is why the quote proves nothing, "" where it stands there.
	Unsupported string `json:"unsupported,omitempty"`
}

// Picture is one that the model was shown.
type Picture struct {
	Type string `json:"type"`
	Sum  string `json:"sha256"`
	ID   string `json:"scratchpad_id,omitempty"`
}

// Unsupported are those of a list that prove nothing.
func Unsupported(list []Evidence) (all []Evidence) {
	return slices.DeleteFunc(slices.Clone(list), func(e Evidence) bool { return e.Unsupported == "" })
}

// String names what is quoted, in one line.
func (e Evidence) String() string { return fmt.Sprintf("step %d %q", e.Step, text.Cut(e.Quote, 200)) }
