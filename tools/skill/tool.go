package skill

import (
	"context"
	_ "embed"
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

// Bounds of what is told: bytes of the descriptions of all skills, of the names of files, and of a
// text that is shown at once, as who follows half of a skill goes wrong.
const (
	maxTold   = 8 << 10
	maxListed = 2 << 10
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

// show gives a file, or without a name what SKILL.md says, while all is as it was accepted.
func (s Skill) show(w io.Writer, name string) tools.Result {
	if now, err := Load(s.Dir); err != nil || now.Hash != s.Hash {
		return tools.Fail("skill %s changed since this cycle began, and is off until the operator has looked at it", s.Name)
	}
	if name == "." || name == Main {
		return tools.Result{OK: true, Content: s.body, Metadata: map[string]any{"folder": s.Dir, "files": s.listed()}}
	}
	// Some are written where FORMS.md is forms.md.
	i := slices.IndexFunc(s.Files, func(path string) bool { return strings.EqualFold(path, name) })
	if i < 0 {
		return tools.Fail("skill %s has no file %.200q; it has: %s", s.Name, name, s.listed())
	}
	file, err := os.OpenInRoot(s.Dir, s.Files[i])
	if err == nil {
		defer file.Close()
		_, err = tools.Copy(w, file, maxBytes)
	}
	if err != nil {
		return tools.Fail("skill %s: %v", s.Name, err)
	}
	return tools.Result{OK: true}
}

// listed are the files beside SKILL.md.
func (s Skill) listed() string {
	names := slices.DeleteFunc(slices.Clone(s.Files), func(path string) bool { return path == Main })
	return text.CutBytes(strings.Join(names, ", "), maxListed)
}
