package dispatcher

import (
	"encoding/json"
	"slices"
	"strings"

	"rouse/internal/object"
)

// Forms in which models write a call as text.
const (
	FormTool     = "tool"          // {"tool": …, "args": …}, which the json protocol asks for
	FormName     = "name"          // {"name": …, "arguments": …}
	FormLegacy   = "function_call" // {"function_call": {"name": …, "arguments": …}}
	FormTag      = "tool_call"     // <tool_call>…</tool_call> around one of these
	FormFunction = "function"      // <function=name>…</function>
)

// Bare is an action that is all of a reply.
type Bare struct {
	Action
	Form string
	// Strict says that nothing of it had to be repaired.
	Strict bool
}

// ParseBare finds the action of a reply that is nothing but one, apart from
// fences, think blocks and white space: nil where there is anything else, as what
// stands within prose may be a quoted page. Values of <parameter=…> are texts
// unless isText says that the tool wants another type.
func ParseBare(text string, isText func(tool, param string) bool) *Bare {
	text, tagged := unwrapTag(unfence(unthought(text)))
	b := &Bare{Strict: true}
	if strings.HasPrefix(text, "<function=") {
		b = parseFunction(text, isText)
	} else if o := b.object(text); o == nil || !b.decode(o) {
		return nil
	}
	if b != nil && tagged {
		b.Form = FormTag
	}
	return b
}

// unthought is a reply behind what the model thought, of which the opening tag
// may be lost.
func unthought(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if strings.HasPrefix(text, "<think>") || text != "" && !strings.ContainsRune("{<`", rune(text[0])) {
		_, text, _ = strings.Cut(text, "</think>")
	}
	return strings.TrimSpace(text)
}

// unfence is a text without the fences around all of it.
func unfence(text string) string {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	if inner, ok = strings.CutSuffix(inner, "```"); !ok {
		return text
	}
	return strings.TrimSpace(strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyz_"))
}

// unwrapTag is a text without the tag around all of it. A server may have taken
// the closing one for the end of the reply.
func unwrapTag(text string) (inner string, ok bool) {
	if inner, ok = strings.CutPrefix(text, "<tool_call>"); !ok {
		return text, false
	}
	return strings.TrimSpace(strings.TrimSuffix(inner, "</tool_call>")), true
}

// object is the one object that a text is, if need be when it is repaired.
func (b *Bare) object(text string) *object.Object {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return nil
	}
	if o, err := object.Parse([]byte(text)); err == nil {
		return o
	}
	b.Strict = false
	o, _ := mend(text)
	return o
}

// beside are members that, as remarks, stand beside a call of another form and change nothing.
var beside = []string{"type", "id", "role", "content"}

// decode reads the action that an object is, in one of its forms.
func (b *Bare) decode(o *object.Object) (ok bool) {
	if isAction(o) {
		a, err := decodeAction(o)
		b.Action, b.Form = a, FormTool
		return err == nil
	}
	for _, key := range []string{"function_call", "function"} {
		if inner, err := object.Parse(o.Get(key)); err == nil && alone(o, key) && b.named(inner) {
			b.Form = FormLegacy
			return true
		}
	}
	b.Form = FormName
	return b.named(o)
}

// named reads {"name": …, "arguments": …}; some models say parameters.
func (b *Bare) named(o *object.Object) bool {
	for _, key := range []string{"arguments", "parameters"} {
		if value := o.Get(key); value != nil && alone(o, "name", key) {
			b.Tool = o.String("name")
			return b.Tool != "" && decodeArgs(value, &b.Action) == nil
		}
	}
	return false
}

// alone says whether an object has nothing of meaning but these members, each once.
func alone(o *object.Object, keys ...string) bool {
	seen := map[string]bool{}
	return !slices.ContainsFunc(o.Members, func(m object.Member) bool {
		twice := seen[m.Key]
		seen[m.Key] = true
		return twice || !slices.Contains(keys, m.Key) && !slices.Contains(beside, m.Key) && !slices.Contains(remarks, m.Key)
	})
}

// parseFunction reads <function=name>, arguments as JSON or as <parameter=…>,
// and </function>.
func parseFunction(text string, isText func(tool, param string) bool) *Bare {
	name, body, ok := strings.Cut(strings.TrimPrefix(text, "<function="), ">")
	body, closed := strings.CutSuffix(strings.TrimSpace(body), "</function>")
	body = strings.TrimSpace(body)
	if !ok || name == "" || strings.ContainsAny(name, " \t\r\n<\"") {
		return nil
	}
	b := &Bare{Action: Action{Tool: name}, Form: FormFunction, Strict: true}
	if strings.HasPrefix(body, "{") {
		o := b.object(body)
		if o == nil || decodeArgs(o.JSON(), &b.Action) != nil {
			return nil
		}
		return b
	}
	args, ok := parseParameters(body, func(param string) bool { return isText(name, param) })
	if !ok || !closed {
		return nil
	}
	b.Args = args
	return b
}

// parseParameters reads <parameter=key>value</parameter>, any number of them.
func parseParameters(body string, isText func(param string) bool) (json.RawMessage, bool) {
	o := &object.Object{}
	for body != "" {
		rest, ok := strings.CutPrefix(body, "<parameter=")
		key, rest, named := strings.Cut(rest, ">")
		value, rest, closed := strings.Cut(rest, "</parameter>")
		if !ok || !named || !closed || key == "" || o.Get(key) != nil {
			return nil, false
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		raw := json.RawMessage(value)
		if isText(key) || !json.Valid(raw) {
			raw, _ = json.Marshal(value) // a text always has a JSON form
		}
		o.Set(key, raw)
		body = strings.TrimSpace(rest)
	}
	return o.JSON(), true
}
