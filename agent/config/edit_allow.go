package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/lazy"
	"rouse/internal/yamlerror"
)

// The lists of the sandbox, by their keys.
const (
	HostsList = "hosts"
	ReadList  = "read"
	WriteList = "write"
)

// AddAllowed gives the text of a rouse.yaml with one more entry in a list of the
// sandbox, and nothing else changed: comments and order stay.
func AddAllowed(text []byte, list, entry string) ([]byte, error) {
	was, err := sandboxOf(text)
	if err != nil {
		return nil, fmt.Errorf("rouse.yaml: %s", yamlerror.Text(err))
	}
	entries := []string{entry}
	if list == ReadList && len(was.Read) <= 1 {
		entries = slices.Concat(was.Read, entries) // a word alone becomes a list with it
	}
	out, err := addAllowed(string(text), list, entries)
	if err != nil {
		return nil, errOddSandbox
	}
	now, err := sandboxOf([]byte(out))
	if err != nil || !oneMore(was, now, list, entry) {
		return nil, errOddSandbox
	}
	return []byte(out), nil
}

var errOddSandbox = errors.New("rouse.yaml: the form of sandbox: is too unusual to be changed here; write the line there yourself")

// sandboxOf is the sandbox of a file, with the word that goes with a list.
func sandboxOf(text []byte) (Sandbox, error) {
	c := Default()
	if err := decode(text, &c); err != nil {
		return Sandbox{}, err
	}
	c.Sandbox.fill(c.Posture)
	return c.Sandbox, nil
}

// oneMore says that a list got an entry, and nothing else changed.
func oneMore(was, now Sandbox, list, entry string) bool {
	lists := map[string]func(*Sandbox) *[]string{
		HostsList: func(s *Sandbox) *[]string { return (*[]string)(&s.Hosts) },
		ReadList:  func(s *Sandbox) *[]string { return (*[]string)(&s.Read) },
		WriteList: func(s *Sandbox) *[]string { return (*[]string)(&s.Write) },
	}
	before, after := lists[list](&was), lists[list](&now)
	want := append(slices.Clone(*before), entry)
	got := slices.Clone(*after)
	slices.Sort(want)
	slices.Sort(got)
	*before, *after = nil, nil
	return slices.Equal(want, got) && reflect.DeepEqual(was, now)
}

// addAllowed adds entries to a list, of which there may be nothing yet.
func addAllowed(text, list string, entries []string) (string, error) {
	node, err := find([]byte(text), "sandbox")
	if err != nil {
		return "", err
	}
	last := entries[len(entries)-1]
	for i := range entries {
		entries[i] = plain(entries[i])
	}
	flow := "[" + strings.Join(entries, ", ") + "]"
	lines := strings.SplitAfter(text, "\n")
	var there *yaml.Node
	if node != nil && node.Kind == yaml.MappingNode {
		there = value(node, list)
	}
	switch {
	case node == nil:
		lines = addSection(lines, "sandbox", fmt.Sprintf("sandbox:\n  %s: %s\n", list, flow))
	case node.Tag == "!!null":
		err = replace(lines, node, "{"+list+": "+flow+"}")
	case node.Kind != yaml.MappingNode:
		err = errOddSandbox
	case there == nil:
		err = addKey(lines, node, list+": "+flow)
	case there.Kind == yaml.SequenceNode && len(there.Content) > 0:
		err = addEntry(lines, there, plain(last))
	default:
		err = replace(lines, there, flow)
	}
	return strings.Join(lines, ""), err
}

// addEntry puts an entry behind those of a list, or before them where the list is
// in brackets, whose end the library does not tell.
func addEntry(lines []string, list *yaml.Node, entry string) error {
	last := list.Content[len(list.Content)-1]
	if list.Line < 1 || last.Line > len(lines) {
		return errOddSandbox
	}
	if list.Style&yaml.FlowStyle != 0 {
		line := []rune(lines[list.Line-1])
		if list.Column < 1 || list.Column > len(line) {
			return errOddSandbox
		}
		lines[list.Line-1] = string(line[:list.Column]) + entry + ", " + string(line[list.Column:])
		return nil
	}
	line := lines[last.Line-1]
	end := "\n"
	if strings.HasSuffix(line, "\r\n") {
		end = "\r\n"
	}
	if !strings.HasSuffix(line, "\n") {
		line += "\n"
	}
	lines[last.Line-1] = line + strings.Repeat(" ", max(list.Column-1, 0)) + "- " + entry + end
	return nil
}

// plain is a text as YAML has it, without quotes where it needs none.
func plain(s string) string {
	if plainText.Get().MatchString(s) && !oneOf(strings.ToLower(s), "null", "true", "false", "yes", "no", "on", "off", "y", "n") {
		return s
	}
	return quote(s)
}

// plainText matches what means itself.
var plainText = lazy.Regexp{Expr: `^(~?/|[A-Za-z])[A-Za-z0-9_./-]*$`}
