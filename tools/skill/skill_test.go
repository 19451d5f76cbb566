package skill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = "---\nname: a\ndescription: Reads tables. Use it for CSV.\n---\n# How\n\nRun scripts/a.sh.\n"

// What others wrote is used as it is, and what the format does not have is said.
func TestLoad(t *testing.T) {
	swap := func(a, b string) string { return strings.Replace(good, a, b, 1) }
	for main, want := range map[string]string{
		good: "",
		strings.ReplaceAll("\ufeff"+good, "\n", "\r\n"):                                                       "",
		swap("name: a", "name: a\nlicense: MIT\nmetadata: {a: 1}\nallowed-tools: [Bash]\ncompatibility: any"): "",
		swap("name: a", "name: A b"):                                                                          `name "A b": use small letters`,
		swap("name: a", "name: b"):                                                                            `name b is not that of its folder, "a"`,
		swap("name: a", "name: a\nversion: 1\nauthor: x"):                                                     "no key author, version",
		swap("tables.", "tables: all."):                                                                       "no YAML, it is read line by line",
		swap("tables", "\u200btables"):                                                                        `"SKILL.md" line 3 has the hidden character U+200B`,
		swap("tables", "\u3164tables") + "\x00":                                                               `"SKILL.md" line 3 has the hidden character U+3164`,
		good + "pay\x1b[8m me\x1b[m":                                                                          `"SKILL.md" line 8 has the hidden character U+001B`,
		good + "pay me\rsave\r\n":                                                                             `"SKILL.md" line 8 has the hidden character U+000D`,
		good + "\u2764\ufe0f":                                                                                 "",
		swap("tables", strings.Repeat("a", 1025)):                                                             "the most are 1024",
		swap("description", "text"):                                                                           "error: it has no description",
		"# How\n":                                                                                             "error: it has no SKILL.md that begins with front matter",
		"":                                                                                                    "error: it has no SKILL.md",
		good + "\xff":                                                                                         "error: it has no SKILL.md",
		good + strings.Repeat("a", maxText):                                                                   "error: \"SKILL.md\" is too large",
	} {
		dir := filepath.Join(t.TempDir(), "a")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, Main), []byte(main), 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := Load(dir)
		said := strings.Join(s.Problems, "; ")
		if err != nil {
			said = strings.Replace(err.Error(), `skill "a":`, "error:", 1)
		}
		if !strings.Contains(said, want) || want == "" && said != "" || strings.HasPrefix(want, "error") != (err != nil) {
			t.Errorf("%.60q: %q, want %q", main, said, want)
		}
	}
}

// Skills of others are used as they are, but for one without a description.
func TestForeign(t *testing.T) {
	dirs := Find(filepath.Join("..", "mcp", "testdata", "npm", "node_modules", "@framers", "agentos-skills", "registry", "curated"))
	if len(dirs) == 0 {
		t.Skip("the skills of npm are not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm")
	}
	for _, dir := range dirs {
		if s, err := Load(dir); (err != nil) != (s.Name == "email-intelligence") {
			t.Error(s.Name, err)
		}
	}
}

// Of what lies beside, too, texts are looked at, as far as a person would be, and no others.
func TestLook(t *testing.T) {
	for data, want := range map[string]string{
		"fine \xff and \xe0\xa0 more of it, which is a text":       "",
		"caf\xe9 is not, as somebody has it, \U000e0041 all of it": "hidden character U+E0041",
		"\x89PNG\x00\x00\u200b\x00\x01":                            "",
		strings.Repeat("a line\n", maxText/7+1) + "\u200b":         "rest is not looked at",
	} {
		var s Skill
		s.look("b", []byte(data)[:min(len(data), maxText)], int64(len(data)))
		if said := strings.Join(s.Problems, "; "); !strings.Contains(said, want) || (want == "") != (said == "") {
			t.Errorf("%.40q: %q, want %q", data, said, want)
		}
	}
}
