package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"rouse/internal/lazy"
)

// file is a .mcp.json as it is read, from its beginning to its end, so that
// every mistake has its line.
type file struct {
	data []byte
	dec  *json.Decoder
}

// named is an entry under its name.
type named struct {
	name string
	entry
}

// entries gives the servers in the order of the file.
func (f file) entries() (list []named, err error) {
	found := false
	var others []string
	err = f.object("the file", func(key string) error {
		if key != "mcpServers" {
			others = append(others, key)
			return f.value("the file", new(json.RawMessage))
		}
		if found {
			return f.at(`"mcpServers" is there twice: join them`)
		}
		found = true
		list, err = f.servers()
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := f.dec.Token(); err != io.EOF {
		return nil, f.at("something follows the end of the object")
	}
	if !found && slices.Contains(others, "servers") {
		return nil, errors.New(`the servers stand under "servers"; rename that to "mcpServers"`)
	}
	if !found && len(others) > 0 {
		return nil, errors.New(`there is no "mcpServers"; write {"mcpServers": {"name": {"command": "…"}}}`)
	}
	return list, nil
}

func (f file) servers() ([]named, error) {
	var list []named
	err := f.object("mcpServers", func(name string) error {
		if name == "" || slices.ContainsFunc(list, func(n named) bool { return n.name == name }) {
			return f.at(fmt.Sprintf("the name %q is empty or there twice: rename one", name))
		}
		n := named{name: name}
		err := f.value(fmt.Sprintf("server %q", name), &n.entry)
		list = append(list, n)
		return err
	})
	return list, err
}

// object reads an object and lets each take the value of one key.
func (f file) object(what string, each func(key string) error) error {
	t, err := f.dec.Token()
	if err != nil {
		return f.syntax(err)
	}
	if t == nil {
		return nil
	}
	if t != json.Delim('{') {
		return f.at(what + " must be an object")
	}
	for f.dec.More() {
		key, err := f.dec.Token()
		if err != nil {
			return f.syntax(err)
		}
		if err := each(key.(string)); err != nil {
			return err
		}
	}
	_, err = f.dec.Token()
	return f.syntax(err)
}

// value decodes the next value.
func (f file) value(what string, v any) error {
	start := f.dec.InputOffset()
	err := f.dec.Decode(v)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return f.syntax(err)
	}
	if name := strings.TrimPrefix(wrong.Field, "entry."); name != "" {
		what += ": " + name
	}
	return fmt.Errorf("line %d: %s must be %s, not %s", f.line(start+wrong.Offset), what, plain(wrong), wrong.Value)
}

// plain names the type that was expected, as JSON does.
func plain(wrong *json.UnmarshalTypeError) string {
	switch wrong.Type.Kind().String() {
	case "bool":
		return "true or false"
	case "slice":
		return "a list of texts"
	case "map", "struct":
		return "an object"
	}
	return `a text in quotes ("…")`
}

// syntax gives the decoder's error its line.
func (f file) syntax(err error) error {
	if err == nil {
		return nil
	}
	offset := f.dec.InputOffset()
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = s.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d: not JSON: it ends too early; is a brace missing?", f.line(int64(len(f.data))))
	}
	return fmt.Errorf("line %d: not JSON: %v (no comments, no comma after the last element)", f.line(offset), err)
}

func (f file) at(what string) error {
	return fmt.Errorf("line %d: %s", f.line(f.dec.InputOffset()), what)
}

func (f file) line(offset int64) int {
	return 1 + bytes.Count(f.data[:min(max(offset, 0), int64(len(f.data)))], []byte{'\n'})
}

// expander puts variables in their places, as other clients do.
type expander struct {
	Variables
	missing, refused []string
}

// variable matches ${NAME} and ${NAME:-default}; some clients write ${env:NAME}.
var variable = lazy.Regexp{Expr: `\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`}

func (x *expander) text(s string) string {
	return variable.Get().ReplaceAllStringFunc(s, func(ref string) string {
		m := variable.Get().FindStringSubmatch(ref)
		if slices.Contains(x.Own, m[1]) {
			x.refused = append(x.refused, m[1])
			return ""
		}
		if v := x.Get(m[1]); v != "" {
			return v
		}
		if m[2] == "" && !slices.Contains(x.missing, m[1]) {
			x.missing = append(x.missing, m[1])
		}
		return strings.TrimPrefix(m[2], ":-")
	})
}

func (x *expander) list(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, x.text(s))
	}
	return out
}

func (x *expander) table(table map[string]string) map[string]string {
	out := make(map[string]string, len(table))
	for name, s := range table {
		out[name] = x.text(s)
	}
	return out
}
