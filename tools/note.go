package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
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

const noteText = "Facts from the results so far that will be needed later: values, ids, names, amounts, decisions. " +
	"Extract, do not report status; do not repeat what you wrote before; empty if there is nothing new. " +
	"Results may be pruned from this conversation at the next iteration: what is not written here can be lost to you."

// HasOwnNote says whether a tool has a parameter of its own that is called like
// [NoteParam]; it keeps that, and gets no other.
func HasOwnNote(schema json.RawMessage) bool {
	root, err := parseObject(schema)
	if err != nil {
		return false
	}
	props, err := parseObject(root.get("properties"))
	return err == nil && props.get(NoteParam) != nil
}

// IsOurNote says whether a schema, as models see it, has [NoteParam] from
// [WithNote] or not at all.
func IsOurNote(schema json.RawMessage) bool {
	return !HasOwnNote(schema) || bytes.Contains(schema, []byte(noteText))
}

// Parameters is the JSON Schema of a tool's own parameters.
func (t Tool) Parameters() json.RawMessage {
	if t.Raw != nil {
		return t.Raw
	}
	text, err := json.Marshal(t.Schema)
	if err != nil || t.Schema == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return text
}

// WithNote gives the schema of a tool as models see it: with [NoteParam] as the
// mode says. What the schema accepted it accepts still, with the parameter
// beside it, also where it forbids what it does not name. A schema that is not
// one of an object, or that has the parameter, stays as it is.
func WithNote(schema json.RawMessage, mode NoteMode) json.RawMessage {
	root, err := parseObject(schema)
	if err != nil || mode == NoteOff || mode == "" {
		return schema
	}
	props := properties(root)
	if props.get(NoteParam) != nil {
		return schema
	}
	if root.get("type") == nil {
		root.set("type", json.RawMessage(`"object"`))
	}
	strict := isStrict(root, props)
	if !isPlain(root) {
		o := &opener{root: root, left: maxParts}
		o.inline(root)
		strict = isStrict(root, properties(root))
		o.open(root)
		props = properties(root)
	}
	props.set(NoteParam, json.RawMessage(fmt.Sprintf(`{"type":"string","description":%q}`, noteText)))
	root.set("properties", props.json())
	if mode == NoteRequired || strict {
		require(root)
	}
	return root.json()
}

// properties are those that an object schema names.
func properties(root *object) *object {
	props, err := parseObject(root.get("properties"))
	if err != nil {
		return &object{}
	}
	return props
}

// isPlain says whether a schema consists of properties alone, as most do.
func isPlain(root *object) bool {
	return !slices.ContainsFunc(root.members, func(m member) bool {
		switch m.key {
		case "$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "not", "propertyNames", "patternProperties", "maxProperties":
			return true
		}
		return false
	})
}

// isStrict says whether a schema is of the kind that strict providers want:
// nothing but what is named, and all of it required.
func isStrict(root, props *object) bool {
	if string(root.get("additionalProperties")) != "false" || len(props.members) == 0 {
		return false
	}
	required := names(root.get("required"))
	return !slices.ContainsFunc(props.members, func(m member) bool { return !slices.Contains(required, m.key) })
}

func require(root *object) {
	list, err := json.Marshal(append(names(root.get("required")), NoteParam))
	if err == nil {
		root.set("required", list)
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
	root *object
	left int // parts that may still be looked at
}

func (o *opener) open(part *object) {
	if o.left--; o.left < 0 {
		return
	}
	o.inline(part)
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		o.openEach(part, key)
	}
	for _, key := range []string{"if", "then", "else", "not"} {
		if sub, err := parseObject(part.get(key)); err == nil {
			o.open(sub)
			part.set(key, sub.json())
		}
	}
	openNames(part)
	openPatterns(part)
	if part.get("additionalProperties") == nil && part.get("unevaluatedProperties") == nil {
		return
	}
	props, err := parseObject(part.get("properties"))
	if err != nil {
		props = &object{}
	}
	if props.get(NoteParam) == nil {
		props.set(NoteParam, json.RawMessage("{}"))
	}
	part.set("properties", props.json())
}

func (o *opener) openEach(part *object, key string) {
	var list []json.RawMessage
	if json.Unmarshal(part.get(key), &list) != nil {
		return
	}
	for i, raw := range list {
		if sub, err := parseObject(raw); err == nil {
			o.open(sub)
			list[i] = sub.json()
		}
	}
	if text, err := json.Marshal(list); err == nil {
		part.set(key, text)
	}
}

// inline replaces a reference into the schema itself by what it refers to. Most
// providers want the properties at the root, so that is where they go unless
// both sides say something of the same.
func (o *opener) inline(part *object) {
	var ref string
	if json.Unmarshal(part.get("$ref"), &ref) != nil {
		return
	}
	sub, err := parseObject(o.root.at(ref))
	if err != nil {
		return
	}
	part.remove("$ref")
	if !slices.ContainsFunc(sub.members, func(m member) bool { return part.get(m.key) != nil && m.key != "type" }) {
		for _, m := range sub.members {
			part.set(m.key, m.value)
		}
		if part.get("$ref") != nil {
			o.left--
			if o.left > 0 {
				o.inline(part)
			}
		}
		return
	}
	var all []json.RawMessage
	_ = json.Unmarshal(part.get("allOf"), &all) // none
	if text, err := json.Marshal(append(all, sub.json())); err == nil {
		part.set("allOf", text)
	}
}

// openNames lets rules on names and numbers of properties accept the parameter.
func openNames(part *object) {
	if rule := part.get("propertyNames"); rule != nil {
		part.set("propertyNames", json.RawMessage(fmt.Sprintf(`{"anyOf":[%s,{"const":%q}]}`, rule, NoteParam)))
	}
	var most int
	if rule := part.get("maxProperties"); rule != nil && json.Unmarshal(rule, &most) == nil {
		part.set("maxProperties", json.RawMessage(fmt.Sprint(most+1)))
	}
}

// openPatterns lets those patterns that match the parameter accept a text.
func openPatterns(part *object) {
	patterns, err := parseObject(part.get("patternProperties"))
	if err != nil {
		return
	}
	for i, m := range patterns.members {
		if re, err := regexp.Compile(m.key); err == nil && re.MatchString(NoteParam) {
			patterns.members[i].value = json.RawMessage(fmt.Sprintf(`{"anyOf":[%s,{"type":"string"}]}`, m.value))
		}
	}
	part.set("patternProperties", patterns.json())
}

// TakeNote takes the parameter out of the arguments of a call. A value that is
// not a text, or none, is an empty note. Arguments that are not an object stay
// as they are.
func TakeNote(args json.RawMessage) (rest json.RawMessage, note string) {
	if !bytes.Contains(args, []byte(NoteParam)) && !bytes.ContainsRune(args, '\\') {
		return args, ""
	}
	o, err := parseObject(args)
	if err != nil || o.get(NoteParam) == nil {
		return args, ""
	}
	_ = json.Unmarshal(o.get(NoteParam), &note) // of another type: empty
	for o.get(NoteParam) != nil {
		o.remove(NoteParam)
	}
	return o.json(), strings.TrimSpace(note)
}
