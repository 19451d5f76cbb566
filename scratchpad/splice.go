package scratchpad

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rouse/internal/text"

	"gopkg.in/yaml.v3"
)

// Bytes is the text of the file: what was read if nothing changed. Otherwise
// the keys that changed are written anew into it, at the end if they are new,
// and known keys that it lacks are added. The text is read back and compared
// before it is returned. Callers must not change it.
func (s *State) Bytes() ([]byte, error) {
	if !s.edited {
		return s.data, nil
	}
	if s.text != nil {
		return s.text, nil
	}
	var err error
	for _, write := range []func() []byte{
		func() []byte { return s.splice(true) },
		func() []byte { return s.splice(false) },
		s.encodeValues,
		func() []byte { return s.encodeNodes(false) },
		func() []byte { return s.encodeNodes(true) },
	} {
		text := write()
		if text == nil {
			continue
		}
		if len(text) > MaxBytes {
			return nil, full(len(text), MaxBytes)
		}
		if err = s.verify(text); err == nil {
			s.text = text
			return text, nil
		}
	}
	return nil, fmt.Errorf("write the state as YAML: %v", err)
}

// verify reads a text and compares it with the values that it must hold.
func (s *State) verify(written []byte) error {
	got, err := Parse("the new text", written)
	if err != nil {
		return err
	}
	if len(got.entries) != len(s.entries) {
		return errors.New("the new text has other keys")
	}
	for i, e := range s.entries {
		if g := got.entries[i]; g.key != e.key || !same(g.value, e.value) {
			return fmt.Errorf("%s would read back changed", text.Line(e.key, 60))
		}
	}
	return nil
}

// splice puts the text together from the old one and from what changed. Without
// reuse, changed lists and the last key are written anew, whole.
func (s *State) splice(reuse bool) []byte {
	l := s.layout()
	if l == nil {
		return nil
	}
	b := append([]byte(nil), s.data[:l.keys[0]]...)
	placed := len(l.keys) - 1
	for i, e := range s.entries {
		switch {
		case i >= placed:
			b = append(l.endLine(b), s.fresh(l, e, reuse)...)
		case e.edited || !reuse && i == placed-1:
			b = append(l.endLine(b), l.rewrite(e, func() []byte { return s.fresh(l, e, reuse) }, l.keys[i], l.keys[i+1], reuse)...)
		default:
			b = append(b, s.data[l.keys[i]:l.keys[i+1]]...)
		}
	}
	if tail := s.data[l.keys[placed]:]; len(tail) > 0 {
		b = append(l.endLine(b), tail...)
	}
	return b
}

// endLine ends the last line of b if it is open.
func (l *layout) endLine(b []byte) []byte {
	if len(b) == 0 || b[len(b)-1] == '\n' || b[len(b)-1] == '\r' || bytes.Equal(b, []byte("\ufeff")) {
		return b
	}
	return append(b, l.nl...)
}

// breaks gives new text the line breaks of the file.
func (l *layout) breaks(b []byte) []byte {
	if l.nl == "\n" {
		return b
	}
	return bytes.ReplaceAll(b, []byte("\n"), []byte(l.nl))
}

// rewrite is the text of data[start:end], which holds one key, with the key's
// new value, which fresh writes. Comments and blank lines behind the value stay.
func (l *layout) rewrite(e entry, fresh func() []byte, start, end int, reuse bool) []byte {
	trailer := l.trailer(start, end, isComment)
	rest := l.data[trailer:end]
	var b []byte
	if list, ok := e.value.([]any); ok && reuse {
		b = l.rewriteList(e.node, list, start, trailer)
	}
	if b == nil {
		b = fresh()
		rest = l.remarks(e.node, start, end)
	}
	if bytes.HasSuffix(b, []byte(l.nl+l.nl)) { // blank lines here would join the text
		rest = bytes.TrimLeft(rest, " \t\r\n")
	}
	return append(l.endLine(b), rest...)
}

// rewriteList is the text of a changed list in which items that stayed keep
// their lines; nil if none did.
func (l *layout) rewriteList(node *yaml.Node, list []any, start, end int) []byte {
	items, column := l.items(node, end)
	if len(items) == 0 || len(list) == 0 {
		return nil
	}
	old := oldItems(l, node, append(items, end))
	b := append([]byte(nil), l.data[start:items[0]]...)
	kept := false
	for _, v := range list {
		b = l.endLine(b)
		if lines := old.take(v); lines != nil {
			kept = true
			b = append(b, lines...)
			continue
		}
		b = append(b, l.breaks(appendItem(nil, column, v))...)
	}
	if !kept {
		return nil
	}
	return b
}

// itemPool holds the lines of a list's old items under their values as JSON.
type itemPool map[string][][]byte

func oldItems(l *layout, node *yaml.Node, bounds []int) itemPool {
	pool := make(itemPool, len(node.Content))
	for i, n := range node.Content {
		v, err := source{}.value(n, 1)
		if err != nil {
			continue
		}
		k := itemKey(v)
		pool[k] = append(pool[k], l.data[bounds[i]:bounds[i+1]])
	}
	return pool
}

// take gives out the first lines of an item with that value, each only once.
func (p itemPool) take(v any) []byte {
	k := itemKey(v)
	lines := p[k]
	if len(lines) == 0 {
		return nil
	}
	p[k] = lines[1:]
	return lines[0]
}

func itemKey(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// lineComment is the comment behind the first line of an entry.
func lineComment(e entry) string {
	for _, n := range []*yaml.Node{e.name, e.node} {
		if c := n.LineComment; strings.HasPrefix(c, "#") && !strings.ContainsAny(c, "\r\n") {
			return c
		}
	}
	return ""
}

// encodeValues writes the whole document from the values, where no comment can
// be lost by it.
func (s *State) encodeValues() []byte {
	if s.root() == nil || hasComment(s.doc) {
		return nil
	}
	b := append([]byte(nil), s.bom()...)
	for _, e := range s.entries {
		b = appendEntry(b, 0, pair{e.key, e.value, ""})
	}
	return b
}

func hasComment(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" || slices.ContainsFunc(n.Content, hasComment)
}

// encodeNodes writes the whole document with yaml.v3, which keeps comments but
// not layout. quote puts all strings in double quotes.
func (s *State) encodeNodes(quote bool) []byte {
	if s.root() == nil {
		return nil
	}
	doc, root := *s.doc, *s.root()
	doc.Content, root.Content, root.Style = []*yaml.Node{&root}, nil, 0
	for _, e := range s.entries {
		name, node := e.name, e.node
		if name == nil || e.edited {
			newName, newNode := nodes(e)
			if newName == nil {
				return nil
			}
			node = newNode
			if name == nil {
				name = newName
			}
		}
		if quote {
			name, node = quoted(name), quoted(node)
		}
		root.Content = append(root.Content, name, node)
	}
	var b bytes.Buffer
	b.Write(s.bom())
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if enc.Encode(&doc) != nil {
		return nil
	}
	return b.Bytes()
}

// nodes makes the nodes of an entry from its text.
func nodes(e entry) (name, node *yaml.Node) {
	doc, err := source{"", appendEntry(nil, 0, pair{e.key, e.value, ""})}.decode()
	if err != nil || doc == nil {
		return nil, nil
	}
	return doc.Content[0].Content[0], doc.Content[0].Content[1]
}

// quoted is a copy of n with all strings in double quotes.
func quoted(n *yaml.Node) *yaml.Node {
	c := *n
	if c.Kind == yaml.ScalarNode && (c.Tag == "!!str" || c.Tag == "!!timestamp") {
		c.Tag, c.Style = "!!str", yaml.DoubleQuotedStyle
	}
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, quoted(child))
	}
	return &c
}
