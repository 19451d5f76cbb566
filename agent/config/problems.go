package config

import (
	"bytes"
	"cmp"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/lazy"
	"rouse/internal/text"
)

// Problem is something in rouse.yaml that cannot be meant. Line and Column count from
// 1; they are 0 where the file does not have it, as of what the environment says.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Problem string `json:"problem"`
}

// Problems reads a configuration as Load does, with what else is to hold of it, and goes
// on after a problem as if the key that has it were not there.
func Problems(path string, data []byte, getenv func(string) string, more func(Config) error) (list []Problem) {
	for {
		c, err := read(path, data, getenv)
		if err == nil {
			if err = more(c); err == nil {
				break
			}
			err = c.Wrong(err)
		}
		rest, dependedOn := slices.Clone(data), false
		for _, p := range problems(strings.TrimPrefix(err.Error(), filepath.Base(path)+": "), strings.Split(string(data), "\n")) {
			list = append(list, p)
			top := blank(rest, parse(data), p.Line)
			dependedOn = dependedOn || oneOf(top, "posture", "notify", "tools") // by other keys
		}
		if dependedOn || bytes.Equal(rest, data) || parse(rest) == nil { // it may be that an anchor went
			break
		}
		data = rest
	}
	slices.SortStableFunc(list, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return list
}

// lineMark begins what an error says of a line; quoted is what it quotes of it, and lastKey
// the end of the key that it begins with.
var (
	lineMark = lazy.Regexp{Expr: `(?:^|[;:] )line (\d+): `}
	quoted   = lazy.Regexp{Expr: "\"([^\"]+)\"|`([^`]+)`"}
	lastKey  = lazy.Regexp{Expr: `^[a-z_.]*?([a-z_]+)(?:\[\d+\])?[: ]`}
)

// problems takes an error about some lines apart.
func problems(said string, lines []string) (list []Problem) {
	marks := lineMark.Get().FindAllStringSubmatchIndex(said, -1)
	for i, m := range marks {
		p := Problem{Problem: said[m[1]:append(marks, []int{len(said)})[i+1][0]]}
		p.Line, _ = strconv.Atoi(said[m[2]:m[3]])
		if p.Line > 0 && p.Line <= len(lines) {
			line := lines[p.Line-1]
			words := append(quoted.Get().FindAllStringSubmatch(p.Problem, -1), lastKey.Get().FindStringSubmatch(p.Problem), []string{strings.TrimLeft(line, " -")})
			for _, word := range slices.Concat(words...) {
				if at := strings.Index(line, word); word != "" && at >= 0 && p.Column == 0 {
					p.Column = 1 + len([]rune(line[:at]))
				}
			}
			p.Column = max(p.Column, 1)
		}
		list = append(list, p)
	}
	if list == nil {
		list = []Problem{{Problem: said}}
	}
	return list
}

// blank empties the lines of the smallest key that a line is in, but no part of a list,
// and gives the key at the top that it is in.
func blank(data []byte, n *yaml.Node, line int) (top string) {
	first, last := 0, bytes.Count(data, []byte{'\n'})+1
	for n != nil && n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 {
		i := len(n.Content) - 2
		for ; i >= 0 && n.Content[i].Line > line; i -= 2 {
			last = n.Content[i].Line - 1
		}
		if i < 0 {
			break
		}
		top, first, n = cmp.Or(top, n.Content[i].Value), n.Content[i].Line, n.Content[i+1]
	}
	at := 1
	for i, b := range data {
		if b == '\n' {
			at++
		} else if first > 0 && first <= at && at <= last {
			data[i] = ' '
		}
	}
	return top
}

// unknown matches what package yaml says of a key that a type does not have.
var unknown = lazy.Regexp{Expr: `^(line \d+: )field (\S+) not found in type (.*)$`}

// meant adds, to what package yaml says of unknown keys, which ones may be meant.
func meant(err error) error {
	te := (*yaml.TypeError)(nil)
	if !errors.As(err, &te) {
		return err
	}
	for i, said := range te.Errors {
		if m := unknown.Get().FindStringSubmatch(said); m != nil {
			te.Errors[i] = m[1] + `unknown key "` + m[2] + `"` + meantKey(m[2], m[3])
		}
	}
	return te
}

func meantKey(word, kind string) string {
	var here []string
	elsewhere := ""
	eachKey(reflect.TypeFor[Config](), "", func(of, path string) {
		key := path[strings.LastIndexByte(path, '.')+1:]
		if of == kind {
			here = append(here, key)
		}
		if key == word && (elsewhere == "" || len(path) < len(elsewhere)) {
			elsewhere = path
		}
	})
	switch said := text.Meant(word, here); {
	case said != "" || elsewhere == "":
		return said
	case elsewhere == word:
		return "; there is " + word + ", under no other key"
	}
	return "; there is " + elsewhere
}

// eachKey gives the keys of a struct and of all below it, with the type that has them.
func eachKey(t reflect.Type, prefix string, give func(kind, path string)) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" {
			give(t.String(), prefix+key)
			eachKey(f.Type, prefix+key+".", give)
		}
	}
}
