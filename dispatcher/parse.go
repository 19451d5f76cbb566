package dispatcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kaptinlin/jsonrepair"

	"rouse/internal/lazy"
	"rouse/internal/object"
)

// Action is one thing that the model asks for.
type Action struct {
	Tool string
	Args json.RawMessage // an object
	// Unread names an action before it in the same reply that did not go well: who
	// asks for this one has not read what became of that.
	Unread string
}

// ParseError says why a reply holds no action, in words for the model.
type ParseError struct{ Msg string }

func (e *ParseError) Error() string { return e.Msg }

func parseErrorf(format string, args ...any) error {
	return &ParseError{fmt.Sprintf(format, args...)}
}

// Parse finds the action in a reply of the json protocol: one JSON object
// {"tool": "...", "args": {...}}, with fences, a <think> block or prose around
// it. Of several actions it gives the first, and the number of the others in
// more. JSON that must be repaired is taken only where repairable says so of
// its tool, so that a guess never writes, executes or sends anything.
func Parse(text string, repairable func(tool string) bool) (a Action, more int, err error) {
	objects, damaged := scan(text)
	for i, o := range objects {
		if isAction(o) {
			a, err := decodeAction(o)
			return a, countActions(objects[i+1:]), err
		}
	}
	if damaged != "" {
		a, err := repair(damaged, repairable)
		return a, 0, err
	}
	if len(objects) > 0 {
		return Action{}, 0, parseErrorf(`the JSON object has no "tool"; answer {"tool": "name", "args": {...}}`)
	}
	return Action{}, 0, parseErrorf(`no JSON object in the reply; answer {"tool": "name", "args": {...}}`)
}

// objectStart matches a brace that begins an object, not one in prose.
var objectStart = lazy.Regexp{Expr: `\{\s*(["'}]|[A-Za-z_]\w*\s*:)`}

// scan gives the JSON objects of a text in order. At the first one that is not
// valid JSON it stops and gives the rest as damaged: what stands inside broken
// JSON may be a string, and must not be taken for an action.
func scan(text string) (objects []*object.Object, damaged string) {
	for {
		at := objectStart.Get().FindStringIndex(text)
		if open := strings.Index(text, "<think>"); open >= 0 && (at == nil || open < at[0]) {
			// Thought goes on to its end, or to that of the reply.
			_, text, _ = strings.Cut(text[open:], "</think>")
			continue
		}
		if closed := strings.Index(text, "</think>"); closed >= 0 && (at == nil || closed < at[0]) {
			// What came before was thought, its opening tag lost on the way.
			objects, text = nil, text[closed+len("</think>"):]
			continue
		}
		if at == nil {
			return objects, ""
		}
		text = text[at[0]:]
		var raw json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text))
		err := dec.Decode(&raw)
		o, parseErr := object.Parse(raw)
		if err != nil || parseErr != nil {
			if countActions(objects) > 0 {
				return objects, ""
			}
			return objects, text
		}
		objects = append(objects, o)
		text = text[dec.InputOffset():]
	}
}

func isAction(o *object.Object) bool { return o.Get("tool") != nil }

func countActions(objects []*object.Object) (n int) {
	for _, o := range objects {
		if isAction(o) {
			n++
		}
	}
	return n
}

// remarks are members that models like to add and that change nothing.
var remarks = []string{"thought", "thoughts", "thinking", "reasoning", "reason", "explanation", "comment", "plan"}

// decodeAction reads {"tool": "...", "args": {...}} strictly: a member given
// twice or unknown means that what was meant is not certain.
func decodeAction(o *object.Object) (a Action, err error) {
	for _, m := range o.Members {
		switch {
		case m.Key == "tool" && a.Tool == "":
			err = decodeTool(m.Value, &a)
		case m.Key == "args" && a.Args == nil:
			err = decodeArgs(m.Value, &a)
		case m.Key == "tool" || m.Key == "args":
			err = parseErrorf("%q stands twice in the object", m.Key)
		case !slices.Contains(remarks, m.Key):
			err = parseErrorf(`%q stands beside "tool"; put the arguments in "args"`, m.Key)
		}
		if err != nil {
			return a, err
		}
	}
	if a.Args == nil {
		a.Args = json.RawMessage("{}")
	}
	return a, nil
}

func decodeTool(value json.RawMessage, a *Action) error {
	if json.Unmarshal(value, &a.Tool) != nil || a.Tool == "" {
		return parseErrorf(`"tool" must be the name of a tool, a string`)
	}
	return nil
}

// decodeArgs takes an object, null for none, or a string that holds an object.
func decodeArgs(value json.RawMessage, a *Action) error {
	var inner string
	if json.Unmarshal(value, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
		value = json.RawMessage(inner)
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(value, &o); err != nil {
		return parseErrorf(`"args" must be a JSON object`)
	}
	if o == nil {
		value = json.RawMessage("{}")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return parseErrorf(`"args" must be a JSON object`)
	}
	a.Args = b.Bytes()
	return nil
}

// maxRepair is the largest reply that is repaired, in bytes: the time that the
// library takes grows with the square of how deep a reply nests.
const maxRepair = 16 << 10

// repair mends damaged JSON for tools that only read.
func repair(damaged string, repairable func(tool string) bool) (Action, error) {
	o, refused := mend(damaged)
	if o == nil || !isAction(o) {
		return Action{}, refused
	}
	a, err := decodeAction(o)
	if err != nil || !repairable(a.Tool) {
		return Action{}, refused
	}
	return a, nil
}

// mend gives the object that damaged JSON was meant to be, nil where nobody can
// tell, and what to say where that does not do.
func mend(damaged string) (*object.Object, error) {
	strict := json.Unmarshal([]byte(damaged), new(any))
	var syntax *json.SyntaxError
	if errors.As(strict, &syntax) && int(syntax.Offset) >= len(damaged) {
		return nil, parseErrorf("the JSON is cut off: %v; send the whole object again", strict)
	}
	refused := parseErrorf("the JSON is damaged: %v, near %q; send it again as strict JSON", strict, near(damaged, syntax))
	end := strings.LastIndexByte(damaged, '}')
	if end < 0 || len(damaged) > maxRepair {
		return nil, refused
	}
	mended, err := jsonrepair.Repair(damaged[:end+1])
	if err != nil {
		return nil, refused
	}
	o, err := object.Parse([]byte(mended))
	if err != nil {
		return nil, refused
	}
	return o, refused
}

// near shows where a syntax error is.
func near(text string, e *json.SyntaxError) string {
	at := 0
	if e != nil {
		at = int(e.Offset)
	}
	s := text[max(0, min(at, len(text))-20):min(len(text), at+20)]
	for !utf8.ValidString(s) && s != "" {
		s = strings.ToValidUTF8(s, "")
	}
	return s
}
