package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"rouse/agent/approval"
)

var update = flag.Bool("update", false, "write the schema anew")

const schemaFile = "../../rouse.schema.json"

// forms makes the schema of rouse.yaml from the Go types, with words and defaults from the
// file of a new home, where they are commented out; testdata/forms.yaml has what lacks there.
type forms struct {
	Types, Definitions map[string]*jsonschema.Schema
	Words              map[string]string

	template *yaml.Node
}

func newForms(t *testing.T) *forms {
	var v any
	text, _ := os.ReadFile("../../rouse.yaml")
	f := &forms{template: parse(regexp.MustCompile(`(?m)^# ?( *[a-z_]+:)`).ReplaceAll(text, []byte("$1")))}
	text, _ = os.ReadFile("testdata/forms.yaml")
	err := yaml.Unmarshal(text, &v)
	data, _ := json.Marshal(v)
	if failed := json.Unmarshal(data, f); err != nil || failed != nil || f.template == nil {
		t.Fatal(err, failed)
	}
	return f
}

// words are those that a comment begins with, between bars; one may be explained.
func words(said string) (list []any) {
	for _, part := range regexp.MustCompile(`(?:^|\| )([a-z]+)`).FindAllStringSubmatch(said, -1) {
		list = append(list, part[1])
	}
	return list
}

func (f *forms) of(t reflect.Type, path string) *jsonschema.Schema {
	if known := f.Types[t.String()]; known != nil {
		return known.CloneSchemas()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return f.of(t.Elem(), path)
	case reflect.Slice:
		return &jsonschema.Schema{Types: []string{"array", "null"}, Items: f.of(t.Elem(), path)}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: f.of(t.Elem(), path)}
	case reflect.Struct:
		return f.object(t, path)
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	}
	return &jsonschema.Schema{Type: "integer"}
}

func (f *forms) object(t reflect.Type, path string) *jsonschema.Schema {
	o := &jsonschema.Schema{Types: []string{"object", "null"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, Properties: map[string]*jsonschema.Schema{}}
	for _, field := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if key == "" {
			continue
		}
		at := strings.TrimPrefix(path+"."+key, ".")
		p := f.of(field.Type, at)
		o.Properties[key], o.PropertyOrder = p, append(o.PropertyOrder, key)
		p.Description = f.Words[at]
		if comment, value := f.written(path, key); value != nil {
			var v any
			if p.Description = cmp.Or(comment, p.Description); value.Kind == yaml.ScalarNode && key != "posture" && value.Decode(&v) == nil {
				p.Default, _ = json.Marshal(v)
			}
		}
		if p.Type == "string" && p.Pattern == "" && strings.Contains(p.Description, " | ") {
			p.Enum = words(p.Description)
		}
	}
	return o
}

// written is what the file of a new home has for a key below a path.
func (f *forms) written(path, key string) (comment string, value *yaml.Node) {
	_, above, whole := locate(f.template, path)
	for i := 0; whole && i < len(above.Content); i += 2 {
		if name := above.Content[i]; name.Value == key {
			value = above.Content[i+1]
			return strings.TrimPrefix(name.LineComment+value.LineComment, "# "), value
		}
	}
	return "", nil
}

// The schema that editors are given is that of the types, and says of files in scripts what reading them says.
func TestSchema(t *testing.T) {
	f := newForms(t)
	schema := f.of(reflect.TypeFor[Config](), "")
	approvals := f.of(reflect.TypeFor[[]approval.Entry](), "approvals")
	approvals.Items.Properties["decision"].Enum = []any{"", approval.Approve, approval.Deny}
	schema.Schema, schema.Title, schema.Definitions = "http://json-schema.org/draft-07/schema#", "rouse.yaml", f.Definitions
	schema.Definitions["approvals"] = approvals
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schema); err != nil {
		t.Fatal(err)
	}
	if *update {
		_ = os.WriteFile(schemaFile, b.Bytes(), 0o644)
	}
	if held, _ := os.ReadFile(schemaFile); !bytes.Equal(held, b.Bytes()) {
		t.Error("rouse.schema.json is stale; write it: go test ./agent/config -run Schema -update")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	scripts, _ := filepath.Glob("../../cmd/rouse/testdata/script/*.txtar")
	tried := 0
	for _, script := range scripts {
		all, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all.Files {
			var v any
			if !strings.HasSuffix(file.Name, ".yaml") || yaml.Unmarshal(file.Data, &v) != nil || v == nil {
				continue
			}
			data, _ := json.Marshal(v)
			_ = json.Unmarshal(data, &v)
			_, err := read(file.Name, file.Data, func(string) string { return "" })
			switch wrong := resolved.Validate(v); {
			case err == nil && wrong != nil:
				t.Errorf("%s %s holds, and its schema says %v", script, file.Name, wrong)
			case err != nil && strings.Contains(err.Error(), "unknown key") && wrong == nil:
				t.Errorf("%s %s: %v, of which its schema does not know", script, file.Name, err)
			case err == nil:
				tried++
			}
		}
	}
	if tried < 70 {
		t.Errorf("%d configurations", tried)
	}
}
