package scratchpad

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"rouse/internal/text"

	"gopkg.in/yaml.v3"
)

// root is the mapping at the root of the document, nil for an empty file.
func (s *State) root() *yaml.Node {
	if s.doc == nil || len(s.doc.Content) == 0 {
		return nil
	}
	if r := s.doc.Content[0]; r.Kind != yaml.ScalarNode {
		return r
	}
	return nil
}

// readRoot fills the entries from the nodes.
func (s *State) readRoot() error {
	if s.doc == nil || len(s.doc.Content) == 0 {
		return nil
	}
	r := s.doc.Content[0]
	if r.Kind == yaml.ScalarNode && r.Tag == "!!null" && r.Value == "" {
		return nil
	}
	if r.Kind == yaml.ScalarNode || r.Kind == yaml.SequenceNode {
		v, err := s.value(r, 0)
		if err != nil {
			return err
		}
		return s.failAt(r, "the state must be a mapping of keys to values, not %s", describe(v))
	}
	return s.eachPair(r, s.readEntry)
}

func (s *State) readEntry(name, node *yaml.Node) error {
	v, err := s.value(node, 0)
	if err != nil {
		return err
	}
	fitted, err := fit(name.Value, v)
	if err != nil {
		return s.failAt(node, "%v%s", err, quoteHint(name.Value, v))
	}
	s.entries = append(s.entries, entry{key: name.Value, value: fitted, name: name, node: node})
	return nil
}

// quoteHint tells how a scalar is made text, where text would fit.
func quoteHint(key string, v any) string {
	switch v.(type) {
	case bool, json.Number:
		if _, err := fit(key, "text"); err == nil {
			return " (put it in quotes to make it text)"
		}
	}
	return ""
}

// eachPair checks the keys of a mapping and calls f for each.
func (s source) eachPair(m *yaml.Node, f func(name, node *yaml.Node) error) error {
	if err := s.checkTag(m); err != nil {
		return err
	}
	seen := make(map[string]bool, len(m.Content)/2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		k := m.Content[i]
		if err := s.checkKey(k); err != nil {
			return err
		}
		if seen[k.Value] {
			return s.failAt(k, "the key %q is there twice", text.Line(k.Value, 60))
		}
		seen[k.Value] = true
		if err := f(k, m.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (s source) checkKey(k *yaml.Node) error {
	if err := s.checkTag(k); err != nil {
		return err
	}
	switch {
	case k.Tag == "!!merge":
		return s.failAt(k, "merge keys are not supported, write the keys out")
	case k.Kind != yaml.ScalarNode:
		return s.failAt(k, "a key must be text")
	case k.Tag != "!!str" && k.Tag != "!!timestamp":
		return s.failAt(k, "a key must be text, put it in quotes")
	}
	return nil
}

// checkTag refuses aliases and what a tag would make of a value.
func (s source) checkTag(n *yaml.Node) error {
	ok := false
	switch n.Kind {
	case yaml.MappingNode:
		ok = n.Tag == "!!map"
	case yaml.SequenceNode:
		ok = n.Tag == "!!seq"
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
			ok = true
		}
	case yaml.AliasNode:
		return s.failAt(n, "aliases are not supported, write the value out")
	}
	if !ok {
		return s.failAt(n, "the tag %s is not supported", text.Line(n.Tag, 60))
	}
	return nil
}

// value turns a node into a plain value.
func (s source) value(n *yaml.Node, depth int) (any, error) {
	if err := s.checkTag(n); err != nil {
		return nil, err
	}
	if n.Kind == yaml.ScalarNode {
		return s.scalar(n)
	}
	if depth >= maxDepth {
		return nil, s.failAt(n, "%v", errDeep)
	}
	if n.Kind == yaml.SequenceNode {
		return s.sequence(n, depth)
	}
	m := make(map[string]any, len(n.Content)/2)
	err := s.eachPair(n, func(name, node *yaml.Node) error {
		v, err := s.value(node, depth+1)
		m[name.Value] = v
		return err
	})
	return m, err
}

func (s source) sequence(n *yaml.Node, depth int) (any, error) {
	l := make([]any, len(n.Content))
	for i, c := range n.Content {
		v, err := s.value(c, depth+1)
		if err != nil {
			return nil, err
		}
		l[i] = v
	}
	return l, nil
}

func (s source) scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!str", "!!timestamp", "!!merge":
		return n.Value, nil
	case "!!int", "!!float":
		if num, err := number(n.Value); err == nil {
			return num, nil
		}
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, s.failAt(n, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case int, int64, uint64:
		return json.Number(fmt.Sprint(v)), nil
	case float64:
		return float(v, n.Value), nil
	}
	return n.Value, nil
}

// float writes f so that it stays a float; written is the text for what JSON
// has no number for.
func float(f float64, written string) any {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	num, err := number(text)
	if err != nil {
		return written
	}
	return num
}
