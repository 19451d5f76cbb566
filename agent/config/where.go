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
	if line := lineOf(c.text, keyPath.Get().FindString(err.Error())); line > 0 {
		return fmt.Errorf("%s: line %d: %w", c.name, line, err)
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

// keyPath matches the key that an error begins with.
var keyPath = lazy.Regexp{Expr: `^[a-z_]+(\.[a-z_]+|\[\d+\])*`}

// lineOf is the line of a key, or of the nearest one around it that is there.
func lineOf(text []byte, key string) (line int) {
	line, _, _ = locate(parse(text), key)
	return line
}

// parse is the mapping of a file, or nil.
func parse(text []byte) *yaml.Node {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// locate gives the value of a key, or of the nearest one around it that is there, and
// the line of its name; whole says that it is that of the key itself.
func locate(node *yaml.Node, key string) (line int, value *yaml.Node, whole bool) {
	for _, name := range strings.FieldsFunc(key, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if node == nil {
			return line, node, false
		}
		at, below := child(node, name)
		if below == nil {
			return line, node, false
		}
		line, node = at, below
	}
	return line, node, node != nil
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
