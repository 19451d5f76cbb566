package skill

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"rouse/internal/text"
	"rouse/tools"
)

// ToolName is the name of the tool by which the model reads skills.
const ToolName = "skill"

//go:embed skill.md
var description string

// Bounds of what is told: bytes of the descriptions of all skills, files of one by name, and
// bytes of a text that is shown at once, as who follows half of a skill goes wrong.
const (
	maxTold   = 8 << 10
	maxListed = 40
	shown     = 20 << 10
)

type args struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
}

// Tool is that tool, for skills that a person accepted.
func Tool(skills []Skill) tools.Tool {
	told := description
	for _, s := range skills {
		told += fmt.Sprintf("- %s: %s\n", s.Name, text.CutBytes(s.Description, max(80, maxTold/len(skills))))
	}
	t := tools.New(ToolName, told, func(_ context.Context, call tools.Call, a args) tools.Result {
		i := slices.IndexFunc(skills, func(s Skill) bool { return s.Name == a.Name })
		if i < 0 {
			return tools.Fail("there is no skill %.80q; there are: %s", a.Name, text.Join(skills, ", ", func(s Skill) string { return s.Name }))
		}
		return skills[i].show(call.Output, path.Clean(a.File))
	})
	t.ReadOnly, t.Shown, t.Effect, t.Reads = true, shown, "none", "none"
	return t
}

// show gives a file, or without a name what SKILL.md says.
func (s Skill) show(w io.Writer, name string) tools.Result {
	if name == "." || name == Main {
		return tools.Result{OK: true, Content: s.body, Metadata: map[string]any{"folder": s.Dir, "files": s.listed()}}
	}
	// Some are written where FORMS.md is forms.md.
	i := slices.IndexFunc(s.Files, func(f File) bool { return strings.EqualFold(f.Path, name) })
	if i < 0 {
		return tools.Fail("skill %s has no file %.200q; it has: %s", s.Name, name, strings.Join(s.listed(), ", "))
	}
	got, err := s.copy(w, s.Files[i])
	if err != nil {
		return tools.Fail("skill %s: %.200q: %v", s.Name, name, err)
	}
	return tools.Result{OK: true, Metadata: map[string]any{"bytes": got.Bytes, "encoding": got.Encoding, "total_lines": got.Lines}}
}

// listed are the files beside SKILL.md.
func (s Skill) listed() (names []string) {
	for _, f := range s.Files {
		if f.Path != Main {
			names = append(names, f.Path)
		}
	}
	if more := len(names) - maxListed; more > 0 {
		names = append(names[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return names
}

// copy passes a file on, if it is still the one that was accepted.
func (s Skill) copy(w io.Writer, f File) (got tools.Copied, err error) {
	file, err := os.OpenInRoot(s.Dir, f.Path)
	if err != nil {
		return got, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err == nil && fmt.Sprintf("%x", sum.Sum(nil)) != f.Sum {
		err = errors.New("it changed since this cycle began, and is off")
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return got, err
	}
	return tools.Copy(w, file, maxBytes)
}
