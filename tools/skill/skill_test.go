package skill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/tools"
)

const good = "---\nname: a\ndescription: Reads tables. Use it for CSV.\n---\n# How\n\nRun scripts/a.sh.\n"

// folder makes a skill called a.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a")
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What others wrote is used as it is, and what the format does not have is said.
func TestLoad(t *testing.T) {
	swap := func(a, b string) string { return strings.Replace(good, a, b, 1) }
	for main, want := range map[string]string{
		good: "",
		strings.ReplaceAll("\ufeff"+good, "\n", "\r\n"): "",
		good[:strings.Index(good, "\n#")]:               "",
		swap("name: a", "name: a\nlicense: MIT\nmetadata: {a: 1}\nallowed-tools: [Bash]\ncompatibility: any"): "",
		swap("name: a", "name: A b"):                      `name "A b": use small letters`,
		swap("name: a", "name: b"):                        `name b is not that of its folder, "a"`,
		swap("name: a", "name: a\nversion: 1\nauthor: x"): "no key author, version",
		swap("tables.", "tables: all."):                   "no YAML, it is read line by line",
		swap("tables", "\u200btables"):                    `"SKILL.md" line 3 has the hidden character U+200B`,
		swap("tables", strings.Repeat("a", 1025)):         "the most are 1024",
		swap("description", "text"):                       "error: it has no description",
		"# How\n":                                         "error: it has no SKILL.md that begins with front matter",
		"---\nname: a\n":                                  "error: it has no SKILL.md that begins with front matter",
		"":                                                "error: it has no SKILL.md",
		good + "\xff":                                     "error: it has no SKILL.md",
		good + strings.Repeat("a", maxText):               "error: \"SKILL.md\" is too large",
	} {
		s, err := Load(folder(t, map[string]string{"SKILL.md": main}))
		said := strings.Join(s.Problems, "; ")
		if err != nil {
			said = strings.Replace(err.Error(), `skill "a":`, "error:", 1)
		}
		if !strings.Contains(said, want) || want == "" && said != "" || strings.HasPrefix(want, "error") != (err != nil) {
			t.Errorf("%.60q: %q, want %q", main, said, want)
		}
	}
}

// Each change of a file is another skill, but for what Python keeps beside; none has links that lead out.
func TestHash(t *testing.T) {
	dir := folder(t, map[string]string{"SKILL.md": good, "scripts/a.sh": "a"})
	path, known := filepath.Join(dir, "scripts", "a.sh"), map[string]bool{}
	for i, change := range []func() error{
		func() error { return nil },
		func() error { return os.WriteFile(path, []byte("b"), 0o700) },
		func() error { return os.Chmod(path, 0o600) },
		func() error { return os.Rename(path, path+"x") },
		func() error { return os.Symlink("SKILL.md", filepath.Join(dir, "inside")) },
		func() error { return os.MkdirAll(filepath.Join(dir, "scripts", "__pycache__", "x"), 0o700) },
		func() error { return os.Symlink("/etc/passwd", filepath.Join(dir, "outside")) },
	} {
		failed := change()
		s, err := Load(dir)
		if failed != nil || known[s.Hash] != (i == 5) || (err != nil) != (i == 6) {
			t.Errorf("change %d: %v %v", i, failed, err)
		}
		known[s.Hash] = true
	}
}

// The model gets the files of the skills that it was told of, as they were accepted.
func TestTool(t *testing.T) {
	dir := folder(t, map[string]string{"SKILL.md": good, "docs/forms.md": "forms", "big": strings.Repeat("a line\n", 9000), "moved": "x"})
	s, err := Load(dir)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "moved"), []byte("y"), 0o600)); err != nil {
		t.Fatal(err)
	}
	tool := Tool([]Skill{s})
	if !strings.HasSuffix(tool.Description, "- a: Reads tables. Use it for CSV.") {
		t.Errorf("%s", tool.Description)
	}
	for args, want := range map[string]string{
		`{"name":"a"}`:                        "# How\n\nRun scripts/a.sh.",
		`{"name":"a","file":"./SKILL.md"}`:    "# How\n\nRun scripts/a.sh.",
		`{"name":"a","file":"docs/FORMS.md"}`: "forms",
		`{"name":"a","file":"big"}`:           strings.Repeat("a line\n", 9000),
		`{"name":"a","file":"../a/SKILL.md"}`: `skill a has no file "../a/SKILL.md"; it has: big, docs/forms.md, moved`,
		`{"name":"a","file":"/etc/passwd"}`:   `skill a has no file "/etc/passwd"; it has: big, docs/forms.md, moved`,
		`{"name":"a","file":"moved"}`:         `skill a: "moved": it changed since this cycle began, and is off`,
		`{"name":"b"}`:                        `there is no skill "b"; there are: a`,
	} {
		var out bytes.Buffer
		r := tool.Run(context.Background(), tools.Call{Args: json.RawMessage(args), Output: &out})
		if got := strings.TrimPrefix(fmt.Sprint(r.Content)+out.String()+r.Error, "<nil>"); got != want {
			t.Errorf("%s: %.200q", args, got)
		}
	}
}

// All skills of a package of npm's are used as they are, but for one without a description.
func TestForeign(t *testing.T) {
	dirs := Find(filepath.Join("..", "mcp", "testdata", "npm", "node_modules", "@framers", "agentos-skills", "registry", "curated"))
	if len(dirs) == 0 {
		t.Skip("the skills of npm are not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm")
	}
	var skills []Skill
	for _, dir := range dirs {
		if s, err := Load(dir); err == nil {
			skills = append(skills, s)
		} else if s.Name != "email-intelligence" {
			t.Error(err)
		}
	}
	if told := Tool(skills).Description; len(skills) != len(dirs)-1 || len(skills) < 50 || len(told) > maxTold+4<<10 {
		t.Errorf("%d of %d, told in %d bytes", len(skills), len(dirs), len(told))
	}
}
