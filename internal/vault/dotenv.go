package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"rouse/internal/lazy"
)

// ReadEnv reads a file of lines NAME=value, as .env; none where there is no
// file. No error quotes a value.
func ReadEnv(path string) ([]Variable, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	list, err := parseEnv(string(data))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return list, nil
}

// CheckEnv says why a file that [ReadEnv] takes should not be left as it is: others
// can read it, or a shell finds another value in a line than we do.
func CheckEnv(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others; call: chmod 600 %s", path, quoted(path))
	}
	data, err := read(path)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(data), "\n") {
		if line = strings.Trim(line, " \t"); line != "" && line[0] != '#' && !plainLine.Get().MatchString(line) {
			return fmt.Errorf("%s: line %d: a shell would take it otherwise than it is meant; write NAME='value'", path, i+1)
		}
	}
	return nil
}

// plainLine matches assignments in which a shell finds nothing to expand, to end
// or to run.
var plainLine = lazy.Regexp{Expr: "^(?:export )?[A-Za-z_][A-Za-z0-9_]*=" + "(?:'[^']*'|\"[^\"$\x60\\\\]*\"|[][A-Za-z0-9_@%+=:,./^*?{}!-]*)(?:[ \t]+#.*)?$"}

// quoted is a path as a shell wants it.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// assignment is a line of .env: `export` may stand before it.
var assignment = lazy.Regexp{Expr: `^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)$`}

// parseEnv reads lines NAME=value. A value in single quotes is taken as it is,
// one in double quotes knows \n, \r, \t, \", \\ and \$, another ends at " #" and is
// trimmed. Nothing is expanded, and a value has one line. Of a name that comes
// twice the last one counts.
func parseEnv(text string) ([]Variable, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errors.New("it is not text in UTF-8")
	}
	var list []Variable
	at := map[string]int{}
	for i, line := range strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m := assignment.Get().FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is not NAME=value: write it so, or # before it", i+1)
		}
		value, ok := unquote(m[2])
		if !ok {
			return nil, fmt.Errorf("line %d: the quotes of %s do not end: write NAME='value', in one line", i+1, m[1])
		}
		if k, ok := at[m[1]]; ok {
			list[k].Value = value
			continue
		}
		at[m[1]] = len(list)
		list = append(list, Variable{m[1], value})
	}
	return list, nil
}

var (
	single = lazy.Regexp{Expr: `^'([^']*)'\s*(?:#.*)?$`}
	double = lazy.Regexp{Expr: `^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$`}
	remark = lazy.Regexp{Expr: `(?:^|\s)#.*$`}
)

// unquote is a value without its quotes, or without the remark after it.
func unquote(s string) (string, bool) {
	if m := single.Get().FindStringSubmatch(s); m != nil {
		return m[1], true
	}
	if m := double.Get().FindStringSubmatch(s); m != nil {
		return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, `$`).Replace(m[1]), true
	}
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		return "", false
	}
	return strings.TrimSpace(remark.Get().ReplaceAllString(s, "")), true
}
