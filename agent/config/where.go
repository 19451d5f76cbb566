package config

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/lazy"
)

// Wrong is an error about a value of the file, with the line. It finds that by
// the key that the error begins with, such as cycle.timeout or watch[0]; a key that
// the file does not have has no line.
func (c Config) Wrong(err error) error {
	if line := lineOf(c.text, keyPath().FindString(err.Error())); line > 0 {
		return fmt.Errorf("%s: line %d: %w", c.name, line, err)
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

// keyPath matches the key that an error begins with.
var keyPath = lazy.Regexp(`^[a-z_]+(\.[a-z_]+|\[\d+\])*`)

// lineOf is the line of a key, or of the nearest one around it that is there.
func lineOf(text []byte, key string) (line int) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return 0
	}
	node := doc.Content[0]
	for _, name := range strings.FieldsFunc(key, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		at, below := child(node, name)
		if below == nil {
			break
		}
		line, node = at, below
	}
	return line
}

// child is what a mapping or a sequence has under a name, and the line of it.
func child(n *yaml.Node, name string) (line int, below *yaml.Node) {
	if i, err := strconv.Atoi(name); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return n.Content[i].Line, n.Content[i]
	}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i].Line, n.Content[i+1]
		}
	}
	return 0, nil
}
