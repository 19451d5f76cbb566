// Package skill gives an agent skills: folders with a SKILL.md, in the open format of
// https://agentskills.io. Its front matter says when the skill is of use, its text how
// something is done, and scripts and further texts may lie beside it.
//
// [Load] reads one from disk and hashes all of it, [Tool] shows a model those that a person
// accepted: their names and descriptions, and of the files what it asks for.
package skill

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"rouse/internal/lazy"
	"rouse/internal/text"
)

// Main is the file that makes a folder a skill.
const Main = "SKILL.md"

// Bounds of a skill that is used: files, bytes of all, and bytes of a text that are looked at.
const (
	maxFiles = 2000
	maxBytes = 64 << 20
	maxText  = 256 << 10
)

// Skill is a folder with a SKILL.md, as it is.
type Skill struct {
	Dir         string // absolute
	Name        string // of the folder
	Named       string // what the front matter says, which should be the same
	Description string
	Files       []string // sorted, with slashes
	Bytes       int64
	Hash        string // of all files
	// Problems are what the format does not allow, and where people would not see what a
	// model reads. It can be used in spite of them.
	Problems []string

	body string
}

// Find gives the folders of skills in these folders, by name; of two with one name the
// first is it.
func Find(folders ...string) (dirs []string) {
	known := map[string]bool{}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // what cannot be read has no skills
		for _, e := range entries {
			dir := filepath.Join(folder, e.Name())
			if _, err := os.Stat(filepath.Join(dir, Main)); err == nil && !known[e.Name()] && e.Name()[0] != '.' {
				known[e.Name()], dirs = true, append(dirs, dir)
			}
		}
	}
	return dirs
}

// ValidName says whether a skill may be called that.
func ValidName(name string) bool { return len(name) <= 64 && valid.Get().MatchString(name) }

var valid = lazy.Regexp{Expr: `^[a-z0-9]+(-[a-z0-9]+)*$`}

// Load reads a skill. An error says why it cannot be used.
func Load(dir string) (s Skill, err error) {
	s = Skill{Dir: dir, Name: filepath.Base(dir), Problems: []string{}}
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		err = cmp.Or(s.read(root), s.parse())
	}
	if !ValidName(s.Name) {
		err = errors.New("its folder's name is none for a skill: use small letters, digits and single hyphens")
	}
	if err != nil {
		err = fmt.Errorf("skill %.80q: %w", s.Name, err)
	}
	return s, err
}

// read hashes all files but what git keeps and what Python makes of a script that runs.
func (s *Skill) read(root *os.Root) error {
	all := sha256.New()
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "__pycache__"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case len(s.Files) == maxFiles:
			return fmt.Errorf("more than %d files", maxFiles)
		}
		s.Files = append(s.Files, path)
		return s.hash(root, path, all)
	})
	s.Hash = fmt.Sprintf("%x", all.Sum(nil))
	return err
}

// hash adds a file to the hash of all.
func (s *Skill) hash(root *os.Root, path string, all io.Writer) error {
	info, err := root.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no regular file")
	}
	if err != nil { // as of a link that leads out
		return fmt.Errorf("%.200q: %w", path, err)
	}
	file, err := root.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum, begin := sha256.New(), bytes.Buffer{}
	n, err := io.Copy(io.MultiWriter(sum, text.Capped(&begin, maxText)), io.LimitReader(file, maxBytes-s.Bytes+1))
	s.Bytes += n
	if path == Main {
		s.body = begin.String()
	}
	if s.Bytes > maxBytes || path == Main && n >= maxText {
		err = fmt.Errorf("%.200q is too large: a skill has %d MiB at most, and its %s %d KiB", path, maxBytes>>20, Main, maxText>>10)
	}
	fmt.Fprintf(all, "%q %v %x\n", path, info.Mode()&0o111 != 0, sum.Sum(nil))
	s.look(path, begin.Bytes(), n)
	return err
}

// look notes the first character of a text that people do not see. Bytes that are no text
// here and there make no other file of it.
func (s *Skill) look(path string, data []byte, size int64) {
	data = bytes.ReplaceAll(data[:len(data)-text.Incomplete(data)], []byte("\r\n"), []byte("\n"))
	if bad := bytes.Count(bytes.ToValidUTF8(data, []byte{0}), []byte{0}); path != Main && bad > len(data)/20 {
		return
	}
	if size > maxText {
		s.problem("%.100q is a text of more than %d KiB, of which the rest is not looked at", path, maxText>>10)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if i := bytes.IndexFunc(data, concealed); i >= 0 {
		r, _ := utf8.DecodeRune(data[i:])
		s.problem("%.100q line %d has the hidden character %U", path, 1+bytes.Count(data[:i], []byte("\n")), r)
	}
}

// concealed says of a character that it is not shown, or has a terminal conceal others. Those
// of which pictures are made are not meant.
func concealed(r rune) bool {
	switch r {
	case '\n', '\t', '\f', '\u200d', '\ufe0e', '\ufe0f':
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func (s *Skill) problem(format string, args ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

// front is the front matter.
type front struct {
	Name          string         `yaml:"name"`
	Description   string         `yaml:"description"`
	License       string         `yaml:"license"`
	Compatibility string         `yaml:"compatibility"`
	Metadata      map[string]any `yaml:"metadata"`
	AllowedTools  any            `yaml:"allowed-tools"`
	Others        map[string]any `yaml:",inline"`
}

// parse takes SKILL.md apart, and says what the format would not have.
func (s *Skill) parse() error {
	head, body, ended := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(s.body, "\r\n", "\n"), "\ufeff"), "\n---")
	head, begun := strings.CutPrefix(head, "---\n")
	if !begun || !ended || body != "" && body[0] != '\n' || !utf8.ValidString(s.body) {
		return fmt.Errorf("it has no %s that begins with front matter between two lines ---, in UTF-8", Main)
	}
	s.body = strings.TrimSpace(body)
	var f front
	if err := yaml.Unmarshal([]byte(head), &f); err != nil { // mostly for a colon in a description
		s.problem("the front matter is no YAML, it is read line by line: %s", text.Line(err.Error(), 200))
		lines := map[string]string{}
		for l := range strings.Lines(head) {
			key, value, _ := strings.Cut(l, ":")
			lines[key] = strings.Trim(value, " \"\n")
		}
		f.Name, f.Description = lines["name"], lines["description"]
	}
	s.Named, s.Description = f.Name, text.Words(f.Description)
	s.judge(f)
	if s.Description == "" {
		return errors.New("it has no description, by which a model would know when to read it")
	}
	return nil
}

func (s *Skill) judge(f front) {
	if !ValidName(f.Name) {
		s.problem("name %.80q: use small letters, digits and single hyphens, at most 64", f.Name)
	} else if f.Name != s.Name {
		s.problem("name %s is not that of its folder, %.80q", f.Name, s.Name)
	}
	if d, c := utf8.RuneCountInString(f.Description), utf8.RuneCountInString(f.Compatibility); d > 1024 || c > 500 {
		s.problem("description has %d characters, and compatibility %d: the most are 1024 and 500", d, c)
	}
	if len(f.Others) > 0 {
		s.problem("the format has no key %s", text.Brief(strings.Join(slices.Sorted(maps.Keys(f.Others)), ", "), 200))
	}
}
