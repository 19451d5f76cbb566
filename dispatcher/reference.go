package dispatcher

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rouse/internal/lazy"
	"rouse/internal/object"
	"rouse/tools"
)

// maxSplice is how much text references may put inside longer texts and into
// values that are not streamed, in bytes for one call.
const maxSplice = 64 << 10

// maxMedia is how much binary content they may put there, in bytes.
const maxMedia = 8 << 20

// referenceForm finds references, also those that are not written well, so that
// they are reported and not taken for text.
var referenceForm = lazy.Regexp{Expr: `\{\{\s*(?:step([0-9]+)|fleet:([0-9a-f]{16}))([^{}]*)\}\}`}

// referencePath is the part of a reference behind the step's number or the id.
var referencePath = lazy.Regexp{Expr: `^(\.[A-Za-z0-9_-]+)+\s*$`}

// referred is what a reference stands for.
type referred struct {
	value any                           // a JSON value, unless open is set
	open  func() (io.ReadCloser, error) // a text too large for that
	size  int64                         // of the text
	// binary says that it is no text: in arguments it is base64.
	binary bool
}

// resolver puts the values of earlier steps in the place of references such as
// {{step3.content}} in the arguments of one call, and what other homes share. It looks at each text once:
// what a reference brought in is never looked at again.
type resolver struct {
	tool    tools.Tool
	lookup  func(step int, path []string) (referred, error)
	shared  func(id string, path []string) (referred, error) // of what other homes share
	streams map[string]io.ReadCloser
	spliced int
	media   int64
	// err is the first thing that is wrong, for the model to read.
	err error
}

// resolve gives the arguments with their references resolved.
func (r *resolver) resolve(args json.RawMessage) json.RawMessage {
	if !bytes.Contains(args, []byte("{{")) {
		return args
	}
	var given map[string]any
	if err := object.Decode(args, &given); err != nil {
		r.fail("%v", err)
		return args
	}
	for name, v := range given {
		given[name] = r.top(name, v)
	}
	out, err := json.Marshal(given) // the order of keys is lost, which no tool minds
	if err != nil {
		r.fail("%v", err)
	}
	return out
}

// top resolves the value of a parameter: one that is a single reference may be
// streamed, one that is executed or dialled may hold none.
func (r *resolver) top(name string, v any) any {
	text, ok := v.(string)
	if ok && slices.Contains(r.tool.Streams, name) {
		if found := referenceForm.Get().FindString(text); found == text && found != "" {
			return r.stream(name, text)
		}
	}
	if slices.Contains(r.tool.Verbatim, name) && holdsReference(v) {
		r.fail("%s is executed or dialled, so it must not hold a reference: %s", name, r.instead())
		return v
	}
	return r.walk(v)
}

func (r *resolver) instead() string {
	if len(r.tool.Streams) > 0 {
		return "pass the content as " + strings.Join(r.tool.Streams, " or ") + ", or write it to a file first"
	}
	return "write the content to a file with write_file first"
}

// stream keeps the text of a reference for the tool to read as it needs it.
func (r *resolver) stream(name, text string) any {
	found, ok := r.find(text)
	if !ok {
		return text
	}
	if found.open == nil {
		return r.inline(found)
	}
	reader, err := found.open()
	if err != nil {
		r.fail("%s: %v", text, err)
		return text
	}
	r.streams[name] = reader
	return ""
}

// walk resolves every text in a value.
func (r *resolver) walk(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		for i := range v {
			v[i] = r.walk(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = r.walk(v[k])
		}
	}
	return v
}

// text resolves one text: a single reference keeps its type, others are spliced.
func (r *resolver) text(s string) any {
	if found := referenceForm.Get().FindString(s); found == s && found != "" {
		if value, ok := r.find(s); ok {
			return r.inline(value)
		}
		return s
	}
	return referenceForm.Get().ReplaceAllStringFunc(s, func(ref string) string {
		value, ok := r.find(ref)
		if !ok {
			return ref
		}
		return asText(r.inline(value))
	})
}

// inline gives a value that is to stand in the arguments themselves.
func (r *resolver) inline(found referred) any {
	if found.binary {
		return r.base64(found)
	}
	v := found.value
	if found.open != nil {
		v = r.read(found)
	}
	r.spliced += len(asText(v))
	if r.spliced > maxSplice {
		r.fail("references would put %d bytes into the arguments, the limit is %d: %s", r.spliced, maxSplice, r.instead())
		return ""
	}
	return v
}

// base64 gives a picture, or what else is no text, as tools take it in arguments.
func (r *resolver) base64(found referred) any {
	if r.media += found.size; r.media > maxMedia {
		r.fail("references would put %d bytes of media into the arguments, the limit is %d: %s", r.media, maxMedia, r.instead())
		return ""
	}
	data, err := found.all(maxMedia)
	if err != nil {
		r.fail("%v", err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// all is a content of at most so many bytes.
func (f referred) all(most int64) ([]byte, error) {
	reader, err := f.open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(io.LimitReader(reader, most))
}

func (r *resolver) read(found referred) any {
	if found.size > maxSplice {
		r.spliced += int(min(found.size, 1<<40))
		return ""
	}
	data, err := found.all(maxSplice)
	switch {
	case err != nil:
		r.fail("%v", err)
	case !utf8.Valid(data):
		r.fail("a reference stands for binary content, and arguments are text: %s", r.instead())
	}
	return string(data)
}

// find looks a reference up.
func (r *resolver) find(ref string) (referred, bool) {
	m := referenceForm.Get().FindStringSubmatch(ref)
	step, err := strconv.Atoi(m[1])
	if err != nil && m[2] == "" || !referencePath.Get().MatchString(m[3]) {
		r.fail("%s: write a reference as {{step3.content}}, a step and a field of its result", ref)
		return referred{}, false
	}
	path := strings.Split(strings.TrimSpace(m[3])[1:], ".")
	var found referred
	if m[2] != "" {
		found, err = r.shared(m[2], path)
	} else {
		found, err = r.lookup(step, path)
	}
	if err != nil {
		r.fail("%s: %v", ref, err)
		return referred{}, false
	}
	return found, true
}

func (r *resolver) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// readers are the streams as a tool takes them.
func (r *resolver) readers() map[string]io.Reader {
	m := make(map[string]io.Reader, len(r.streams))
	for name, s := range r.streams {
		m[name] = s
	}
	return m
}

func (r *resolver) close() {
	for _, s := range r.streams {
		s.Close()
	}
}

func holdsReference(v any) bool {
	switch v := v.(type) {
	case string:
		return referenceForm.Get().MatchString(v)
	case []any:
		return slices.ContainsFunc(v, holdsReference)
	case map[string]any:
		for _, x := range v {
			if holdsReference(x) {
				return true
			}
		}
	}
	return false
}

// asText is a value as it stands inside a longer text.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// field follows a path of names and list indices into a JSON value.
func field(v any, path []string) (any, error) {
	for i, name := range path {
		switch x := v.(type) {
		case map[string]any:
			inner, ok := x[name]
			if !ok {
				return nil, fmt.Errorf("there is no %s", strings.Join(path[:i+1], "."))
			}
			v = inner
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(x) {
				return nil, fmt.Errorf("there is no %s: the list has %d items, counted from 0", strings.Join(path[:i+1], "."), len(x))
			}
			v = x[n]
		default:
			return nil, fmt.Errorf("there is no %s", strings.Join(path[:i+1], "."))
		}
	}
	return v, nil
}
