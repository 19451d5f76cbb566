package journal

import (
	"fmt"

	"rouse/internal/text"
)

// Kept says that the history has a new version of the workspace.
type Kept struct {
	ID string `json:"id"`
	// Files is how many there are, and Changed how many are not as in the version
	// before; Bytes is what it takes.
	Files   int   `json:"files"`
	Changed int   `json:"changed"`
	Bytes   int64 `json:"bytes"`
}

func (*Kept) event() string { return "version" }

func (d *Kept) text() string {
	return fmt.Sprintf("keep   version %s of the workspace: %s changed, %d bytes", text.Line(d.ID, 40), text.Count(d.Changed, "file"), d.Bytes)
}
