package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"rouse/internal/proc"
	"rouse/tools"
)

// Spec declares a tool in the configuration.
type Spec struct {
	// Name matches [A-Za-z0-9_-]{1,64}.
	Name string `yaml:"name"`
	// Description is the Markdown that the model reads.
	Description string `yaml:"description"`
	// Parameters is a JSON Schema of type object, as decoded from YAML; nil is
	// no parameters. Each one is a string, number, integer or boolean, and has
	// its place in Argv.
	Parameters map[string]any `yaml:"parameters"`
	// Argv is the program, by name or absolute path, and its arguments. {name}
	// stands for the value of the parameter of that name; all other braces for
	// themselves. A value stays inside its one argument. An argument that
	// refers to an optional parameter that a call leaves out is left out too.
	// A value that begins an argument must not begin with "-", where a program
	// would take it for an option, unless it is a number or "--" stands before.
	Argv []string `yaml:"argv"`
	// Effect is what its calls may change, and Reads where their texts are from, as
	// [tools.Tool] has it.
	Effect string `yaml:"effect"`
	Reads  string `yaml:"reads"`
}

// Tool makes the tool that s declares. Its parameters and nothing else may be
// given; defaults in the schema hold.
func Tool(s Spec, e Exec) (tools.Tool, error) {
	t, err := s.tool(e)
	if err != nil {
		return tools.Tool{}, fmt.Errorf("command %q: %w", s.Name, err)
	}
	return t, nil
}

func (s Spec) tool(e Exec) (tools.Tool, error) {
	if !tools.ValidName(s.Name) {
		return tools.Tool{}, errors.New("name must be 1 to 64 letters, digits, _ or -")
	}
	if strings.TrimSpace(s.Description) == "" {
		return tools.Tool{}, errors.New("description is missing: the model must know what it does")
	}
	schema, err := s.schema()
	if err != nil {
		return tools.Tool{}, fmt.Errorf("parameters: %w", err)
	}
	args, err := parse(s.Argv, schema)
	if err != nil {
		return tools.Tool{}, fmt.Errorf("argv: %w", err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return tools.Tool{}, fmt.Errorf("parameters: %w", err)
	}
	if err := tools.CheckSaid(s.Effect, s.Reads); err != nil {
		return tools.Tool{}, err
	}
	return tools.Tool{Name: s.Name, Source: "command " + s.Name, Description: strings.TrimSpace(s.Description), Schema: schema, Effect: s.Effect, Reads: s.Reads,
		Run: func(ctx context.Context, call tools.Call) tools.Result {
			argv, err := expand(args, resolved, call.Args)
			if err != nil {
				return tools.Fail("%v", err)
			}
			return e.Run(ctx, call, proc.Command{Argv: argv})
		}}, nil
}

// schema turns the parameters into a schema that allows no others.
func (s Spec) schema() (*jsonschema.Schema, error) {
	b, err := json.Marshal(s.Parameters)
	if err != nil {
		return nil, err
	}
	schema := &jsonschema.Schema{}
	if s.Parameters != nil {
		if err := json.Unmarshal(b, schema); err != nil {
			return nil, err
		}
	}
	schema.Type = cmp.Or(schema.Type, "object")
	if schema.Type != "object" {
		return nil, fmt.Errorf("type is %q, must be object", schema.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if err := checkParameter(name, schema.Properties[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range schema.Required {
		if schema.Properties[name] == nil {
			return nil, fmt.Errorf("%q is required but not among the properties", name)
		}
	}
	if schema.AdditionalProperties == nil {
		schema.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	return schema, nil
}

func checkParameter(name string, p *jsonschema.Schema) error {
	if !placeholder.Get().MatchString("{" + name + "}") {
		return fmt.Errorf("%q is no name: letters, digits and _, not first a digit", name)
	}
	switch p.Type {
	case "string", "number", "integer", "boolean":
		return nil
	}
	return fmt.Errorf("%s: type must be string, number, integer or boolean", name)
}
