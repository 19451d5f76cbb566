package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rouse/internal/object"

	"github.com/google/jsonschema-go/jsonschema"
)

// NoteParam is the parameter that each tool gets beside its own, for the facts
// that the model takes from earlier results.
const NoteParam = "task_scratchpad"

// NoteMode says whether tools get [NoteParam].
type NoteMode string

// The modes of [NoteMode].
const (
	NoteRequired NoteMode = "required"
	NoteOptional NoteMode = "optional"
	NoteOff      NoteMode = "off"
)

// NoteInFull is what is said of [NoteParam] in a schema where nobody reads
// [NoteMode.Guide]; elsewhere nothing is.
const NoteInFull = "Facts from the results so far that will be needed later: values, ids, names, amounts, decisions. " +
	"Extract, do not report status; do not repeat what you wrote before; empty if there is nothing new. " +
	"Results may be pruned from this conversation at the next iteration: what is not written here can be lost to you."

// noteGuide is what a model is told of [NoteParam] once, beside its rules.
const noteGuide = "Each call takes `" + NoteParam + "`: new facts from results for later (values, ids, names, decisions); " +
	"no status or secrets, else empty; and `evidence`, as in `done`. Old results leave this conversation: what is not noted is lost."

// Guide is what a model is told of [NoteParam] once, beside its rules.
func (m NoteMode) Guide() string {
	if m == NoteOff || m == "" {
		return ""
	}
	return noteGuide
}

// HasOwnNote says whether a tool has a parameter of its own that is called like
// [NoteParam]; it keeps that, and gets no other.
func HasOwnNote(schema json.RawMessage) bool {
	root, err := object.Parse(schema)
	return err == nil && root.Sub("properties").Get(NoteParam) != nil
}

// WasNoted says whether a schema, as older versions showed it, has [NoteParam] from
// [WithNote].
func WasNoted(schema json.RawMessage) bool {
	return slices.ContainsFunc([]string{"facts", "new facts", NoteInFull}, func(text string) bool {
		return bytes.Contains(schema, noteSchema(text))
	})
}

func noteSchema(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage(`{"type":"string"}`)
	}
	return fmt.Appendf(nil, `{"type":"string","description":%q}`, text)
}

// HasOwnNote says whether the tool has a parameter of its own that is called like
// [NoteParam].
func (t Tool) HasOwnNote() bool {
	if t.Noted {
		return false
	}
	if t.Raw != nil || t.Schema == nil {
		return HasOwnNote(t.Raw)
	}
	return t.Schema.Properties[NoteParam] != nil
}

// Parameters is the JSON Schema of a tool's own parameters.
func (t Tool) Parameters() json.RawMessage {
	if t.Raw != nil {
		return t.Raw
	}
	shown := *cmp.Or(t.Schema, &jsonschema.Schema{Type: "object"})
	shown.AdditionalProperties = nil // a call that names more is told so
	if t.drawn {
		return draw(nil, &shown)
	}
	text, err := json.Marshal(&shown)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return text
}

// WithNote gives the schema of a tool as models see it: with [NoteParam], described
// by text unless that is empty, as the mode says. What the schema accepted it accepts still, with the parameter
// beside it, also where it forbids what it does not name. A schema that is not
// one of an object, or that has the parameter, stays as it is.
func WithNote(schema json.RawMessage, mode NoteMode, text string) json.RawMessage {
	root, err := object.Parse(schema)
	if err != nil || mode == NoteOff || mode == "" {
		return schema
	}
	props := root.Sub("properties")
	if props.Get(NoteParam) != nil {
		return schema
	}
	if root.Get("type") == nil {
		root.Set("type", json.RawMessage(`"object"`))
	}
	if !isPlain(root) {
		o := &opener{root: root, left: maxParts}
		o.inline(root)
		o.open(root)
		props = root.Sub("properties")
	}
	props.Set(NoteParam, noteSchema(text))
	root.Set("properties", props.JSON())
	if mode == NoteRequired {
		require(root)
	}
	return root.JSON()
}

// isPlain says whether a schema consists of properties alone, as most do.
func isPlain(root *object.Object) bool {
	return !slices.ContainsFunc(root.Members, func(m object.Member) bool {
		switch m.Key {
		case "$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "not", "propertyNames", "patternProperties", "maxProperties":
			return true
		}
		return false
	})
}

func require(root *object.Object) {
	list, err := json.Marshal(append(names(root.Get("required")), NoteParam))
	if err == nil {
		root.Set("required", list)
	}
}

func names(raw json.RawMessage) (list []string) {
	_ = json.Unmarshal(raw, &list) // what is not a list of names requires nothing
	return list
}

// maxParts bounds how many parts of a schema are looked at: references can
// multiply them.
const maxParts = 1000

// opener makes the parts of a schema that speak of the same object accept the
// parameter. References to other parts are replaced by a copy of these: the
// original may describe other objects too.
type opener struct {
	root *object.Object
	left int // parts that may still be looked at
}

func (o *opener) open(part *object.Object) {
	if o.left--; o.left < 0 {
		return
	}
	o.inline(part)
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		o.openEach(part, key)
	}
	for _, key := range []string{"if", "then", "else", "not"} {
		if sub, err := object.Parse(part.Get(key)); err == nil {
			o.open(sub)
			part.Set(key, sub.JSON())
		}
	}
	openNames(part)
	openPatterns(part)
	if part.Get("additionalProperties") == nil && part.Get("unevaluatedProperties") == nil {
		return
	}
	props := part.Sub("properties")
	if props.Get(NoteParam) == nil {
		props.Set(NoteParam, json.RawMessage("{}"))
	}
	part.Set("properties", props.JSON())
}

func (o *opener) openEach(part *object.Object, key string) {
	var list []json.RawMessage
	if json.Unmarshal(part.Get(key), &list) != nil {
		return
	}
	for i, raw := range list {
		if sub, err := object.Parse(raw); err == nil {
			o.open(sub)
			list[i] = sub.JSON()
		}
	}
	if text, err := json.Marshal(list); err == nil {
		part.Set(key, text)
	}
}

// inline replaces a reference into the schema itself by what it refers to. Most
// providers want the properties at the root, so that is where they go unless
// both sides say something of the same.
func (o *opener) inline(part *object.Object) {
	var ref string
	if json.Unmarshal(part.Get("$ref"), &ref) != nil {
		return
	}
	sub, err := object.Parse(at(o.root, ref))
	if err != nil {
		return
	}
	part.Remove("$ref")
	if !slices.ContainsFunc(sub.Members, func(m object.Member) bool { return part.Get(m.Key) != nil && m.Key != "type" }) {
		for _, m := range sub.Members {
			part.Set(m.Key, m.Value)
		}
		if part.Get("$ref") != nil {
			o.left--
			if o.left > 0 {
				o.inline(part)
			}
		}
		return
	}
	var all []json.RawMessage
	_ = json.Unmarshal(part.Get("allOf"), &all) // none
	if text, err := json.Marshal(append(all, sub.JSON())); err == nil {
		part.Set("allOf", text)
	}
}

// at gives the part of a schema that a JSON Pointer in a fragment names, such as
// #/$defs/item (RFC 6901), or nil.
func at(root *object.Object, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	raw := root.JSON()
	for _, step := range strings.Split(path, "/") {
		sub, err := object.Parse(raw)
		if err != nil {
			return nil
		}
		raw = sub.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return raw
}

// openNames lets rules on names and numbers of properties accept the parameter.
func openNames(part *object.Object) {
	if rule := part.Get("propertyNames"); rule != nil {
		part.Set("propertyNames", json.RawMessage(fmt.Sprintf(`{"anyOf":[%s,{"const":%q}]}`, rule, NoteParam)))
	}
	var most int
	if rule := part.Get("maxProperties"); rule != nil && json.Unmarshal(rule, &most) == nil {
		part.Set("maxProperties", json.RawMessage(fmt.Sprint(most+1)))
	}
}

// openPatterns lets those patterns that match the parameter accept a text.
func openPatterns(part *object.Object) {
	patterns, err := object.Parse(part.Get("patternProperties"))
	if err != nil {
		return
	}
	for i, m := range patterns.Members {
		if re, err := regexp.Compile(m.Key); err == nil && re.MatchString(NoteParam) {
			patterns.Members[i].Value = json.RawMessage(fmt.Sprintf(`{"anyOf":[%s,{"type":"string"}]}`, m.Value))
		}
	}
	part.Set("patternProperties", patterns.JSON())
}

// TakeNote takes the parameter out of the arguments of a call. A value that is
// not a text, or none, is an empty note. Arguments that are not an object stay
// as they are.
func TakeNote(args json.RawMessage) (rest json.RawMessage, note string) {
	if !bytes.Contains(args, []byte(NoteParam)) && !bytes.ContainsRune(args, '\\') {
		return args, ""
	}
	o, err := object.Parse(args)
	if err != nil || o.Get(NoteParam) == nil {
		return args, ""
	}
	_ = json.Unmarshal(o.Get(NoteParam), &note) // of another type: empty
	o.Remove(NoteParam)
	return o.JSON(), strings.TrimSpace(note)
}
