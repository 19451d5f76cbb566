package journal

import (
	"fmt"
	"strings"

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

// Rewound says that a person puts the home back to what it was before a cycle, before
// that begins.
type Rewound struct {
	To string `json:"to"`
	// Memory is the SHA-256 of the snapshot that the memory goes back to, "" where it
	// stays, and Files the version of the workspace, or "empty", or "" where that stays.
	Memory string `json:"memory,omitempty"`
	Files  string `json:"files,omitempty"`
	// Paths are those of the workspace that go back; none is all.
	Paths []string `json:"paths,omitempty"`
	// Outward is how many calls since then went out, which nothing undoes.
	Outward int `json:"outward,omitempty"`
}

func (*Rewound) event() string { return "rewind" }

func (d *Rewound) text() string {
	line := "rewind to before cycle " + text.Line(d.To, 40) + ":"
	if d.Memory != "" {
		line += " memory"
	}
	if d.Files != "" {
		line += " files " + text.Line(strings.Join(d.Paths, " "), 300)
	}
	return strings.TrimSpace(line)
}

// Variables says which variables the notebooks have saved, by name.
type Variables struct {
	Notebooks map[string][]string `json:"notebooks"`
}

func (*Variables) event() string { return "variables" }

func (*Kept) event() string { return "version" }

func (d *Kept) text() string {
	return fmt.Sprintf("keep   version %s of the workspace: %s changed, %d bytes", text.Line(d.ID, 40), text.Count(d.Changed, "file"), d.Bytes)
}
