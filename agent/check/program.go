package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rouse/internal/text"
)

// Unchanged says why a command, which starts in dir, proves nothing: it runs programs of
// that or another folder that tools can write, and nobody said which they are, or they are others by now. A command can run more
// than what it names, and what that is nobody can tell.
func (c Check) Unchanged(dir string, others ...string) error {
	files := programs(c.Argv, append([]string{dir}, others...))
	if len(files) == 0 {
		return nil
	}
	h := sha256.New()
	for _, name := range files {
		if err := add(h, name); err != nil {
			return err
		}
	}
	is := hex.EncodeToString(h.Sum(nil))
	names := text.Line(strings.Join(files, ", "), 200)
	switch {
	case c.Sum == is:
		return nil
	case c.Sum == "" && c.By == Agent:
		return nil // it proves nothing to anybody
	case c.Sum == "":
		return fmt.Errorf("tools can write %s: put it elsewhere, such as in bin, or add sha256: %s to the check, so that it counts while it is as now", names, is)
	}
	return fmt.Errorf("%s is not what it was when the check was given: now its sha256 is %s", names, is)
}

func add(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// programs are the files in folders that a command, which starts in the first of them,
// names to run them: those that can be executed, and those that are handed to an interpreter.
func programs(argv, dirs []string) (files []string) {
	words := argv
	if len(argv) > 1 && interprets(argv[0]) {
		for _, arg := range argv[1:] {
			words = append(words[:len(words):len(words)], strings.FieldsFunc(arg, between)...)
		}
	}
	for i, word := range words {
		word = strings.Trim(word, `'"`)
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(dirs[0], word)
		}
		info, err := os.Stat(path)
		by := words[:i]
		for len(by) > 0 && strings.HasPrefix(by[len(by)-1], "-") {
			by = by[:len(by)-1]
		}
		run := len(by) > 0 && (interprets(by[len(by)-1]) || by[len(by)-1] == "." || by[len(by)-1] == "source")
		if err != nil || !info.Mode().IsRegular() || !run && (info.Mode()&0o111 == 0 || !strings.Contains(word, "/")) {
			continue
		}
		if slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) }) && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files
}

// between says of a character of a shell's text whether a word ends there.
func between(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>`", r) }

func interprets(word string) bool {
	name := strings.TrimRight(filepath.Base(word), "0123456789.")
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "python", "node", "perl", "ruby", "php", "lua", "awk", "busybox"}, name)
}

// within says whether a path, or what it is a link to, is in a folder.
func within(path, dir string) bool {
	for _, p := range []string{path, real(path)} {
		if rel, err := filepath.Rel(real(dir), p); err == nil && filepath.IsLocal(rel) {
			return true
		}
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}
