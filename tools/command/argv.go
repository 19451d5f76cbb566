package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"rouse/internal/lazy"
	"rouse/internal/object"
)

// placeholder matches what may stand for a parameter.
var placeholder = lazy.Regexp{Expr: `\{([A-Za-z_][A-Za-z0-9_]*)\}`}

// argument is one element of an argv: literal text and parameters in turn.
type argument struct {
	parts []part
	// optionSafe says that its beginning cannot be taken for an option.
	optionSafe bool
}

// part is literal text, or the name of a parameter.
type part struct {
	text      string
	parameter bool
}

func parse(argv []string, schema *jsonschema.Schema) ([]argument, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("no program")
	}
	var args []argument
	unused := maps.Clone(schema.Properties)
	ended := false // "--" was there: no options follow
	for i, element := range argv {
		if strings.ContainsRune(element, 0) {
			return nil, fmt.Errorf("element %d contains a NUL character", i)
		}
		a := argument{parts: split(element, schema.Properties, unused)}
		first := a.first()
		a.optionSafe = ended || !first.parameter || schema.Properties[first.text].Type != "string"
		ended = ended || element == "--"
		args = append(args, a)
	}
	if err := checkProgram(argv[0], args[0]); err != nil {
		return nil, err
	}
	if err := checkCode(argv, args, schema); err != nil {
		return nil, err
	}
	if len(unused) > 0 {
		return nil, fmt.Errorf("parameter %s has no place: write {%[1]s} where its value belongs", slices.Min(slices.Collect(maps.Keys(unused))))
	}
	return args, nil
}

// checkProgram keeps the choice of the program with whoever wrote the
// configuration: a path inside the workspace would leave it to the model.
func checkProgram(program string, a argument) error {
	if slices.ContainsFunc(a.parts, func(p part) bool { return p.parameter }) {
		return errors.New("a parameter cannot name the program")
	}
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		return fmt.Errorf("program %s must be a name in PATH or an absolute path", program)
	}
	return nil
}

func (a argument) first() part {
	if len(a.parts) == 0 {
		return part{}
	}
	return a.parts[0]
}

// split cuts an element at its parameters and takes them out of unused.
func split(element string, declared, unused map[string]*jsonschema.Schema) []part {
	var parts []part
	end := 0
	for _, m := range placeholder.Get().FindAllStringSubmatchIndex(element, -1) {
		name := element[m[2]:m[3]]
		if declared[name] == nil {
			continue
		}
		delete(unused, name)
		if m[0] > end {
			parts = append(parts, part{text: element[end:m[0]]})
		}
		parts = append(parts, part{text: name, parameter: true})
		end = m[1]
	}
	if end < len(element) {
		parts = append(parts, part{text: element[end:]})
	}
	return parts
}

// expand puts the values of a call into the arguments.
func expand(args []argument, schema *jsonschema.Resolved, call json.RawMessage) ([]string, error) {
	values, err := decode(schema, call)
	if err != nil {
		return nil, err
	}
	var argv []string
	for _, a := range args {
		s, ok := a.expand(values)
		if !ok {
			continue
		}
		if !a.optionSafe && strings.HasPrefix(s, "-") {
			return nil, fmt.Errorf("%s must not begin with \"-\": the program would take it for an option", a.first().text)
		}
		argv = append(argv, s)
	}
	return argv, nil
}

// expand reports false if a value is missing.
func (a argument) expand(values map[string]string) (string, bool) {
	var b strings.Builder
	for _, p := range a.parts {
		text := p.text
		if p.parameter {
			v, ok := values[p.text]
			if !ok {
				return "", false
			}
			text = v
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// decode is the text of each value given: a string itself, a number as it was
// written, true or false. null counts as left out.
func decode(schema *jsonschema.Resolved, call json.RawMessage) (map[string]string, error) {
	given := map[string]any{}
	if err := object.Decode(call, &given); err != nil {
		return nil, fmt.Errorf("arguments: %v", err)
	}
	if err := schema.ApplyDefaults(&given); err != nil {
		return nil, fmt.Errorf("arguments: %v", err)
	}
	values := map[string]string{}
	for name, v := range given {
		switch v := v.(type) {
		case nil:
		case string:
			if strings.ContainsRune(v, 0) {
				return nil, fmt.Errorf("%s contains a NUL character", name)
			}
			values[name] = v
		case json.Number, bool, float64:
			values[name] = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("%s must be text, a number, true or false", name)
		}
	}
	return values, nil
}
