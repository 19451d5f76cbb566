package desk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// tool is a verb as clients see it.
type tool struct {
	name, description string
	takes             string // names of arguments: those that it needs, and behind a | others
	gives             string // the name of its list, or text
	acts              bool
	verb              string // with $NAME for an argument; a word whose argument is missing is left out
}

// tools are all of them.
func tools() []tool {
	return []tool{
		{"report", "What happened since a moment (24h): what ran and is proven, what failed and why, cost, changes, what waits for a person.", "| since", "homes", false, "report --json --since=$since"},
		{"cycles", "How cycles ended, the newest first.", "| skip limit", "cycles", false, "cycles --json $all"},
		{"diff", "What a cycle, by default the newest, changed in the memory; with last, a later one, what all of them changed there and in files.", "| cycle last", "changes", false, "diff --json -- $cycle $last"},
		{"search", "Finds what cycles noted, did, called and read: all words, or \"a phrase\"; the newest first.", "query | since kind skip limit", "hits", false, "search --json $all --since=$since --kind=$kind -- $query"},
		{"observations", "Outputs of tools that were too large to be shown, the newest first; observation reads one.", "| skip limit", "observations", false, "observation list --json --all"},
		{"observation", "Reads lines of an observation: 100, or from one on, counted from 1, up to another, which is not included.", "id | from to", "text", false, "observation read --mode=lines --start=$from --end=$to -- $id"},
		{"approvals", "Calls that wait, or waited, for a person's yes; those that are open first.", "| skip limit", "approvals", false, "approvals --json"},
		{"tell", "Gives the agent a task. The cycle that is awake, or the next one, takes it in; report says what became of it. check is a command that must succeed before it counts as done.",
			"task | check", "text", true, "tell --check=$check -- $task"},
		{"answer", "Approves or denies a call that waits: ask the person whom you work for, with all of its arguments, and never decide yourself.", "id decision | why", "approvals", true, "approvals $decision --json --why=$why -- $id"},
	}
}

// parameters are the schemas of arguments, by name; all others are texts.
const parameters = `{"skip": {"type": "integer", "minimum": 0, "maximum": 1e9}, "limit": {"type": "integer", "minimum": 1, "maximum": 1e9}, "from": {"type": "integer", "minimum": 1, "maximum": 1e9}, "to": {"type": "integer", "minimum": 1, "maximum": 1e9},
"since": {"type": "string", "description": "36h, 7d, 2026-04-01 or a cycle"}, "cycle": {"type": "string", "description": "such as 20260401_150154"},
"decision": {"enum": ["approve", "deny"]}, "kind": {"enum": ["note", "task", "call", "result", "cell", "observation"]}}`

// schema is that of the arguments of a tool.
func (t tool) schema() *jsonschema.Schema {
	var known map[string]*jsonschema.Schema
	_ = json.Unmarshal([]byte(parameters), &known) // which is JSON
	need, more, _ := strings.Cut(t.takes, "|")
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, Required: strings.Fields(need), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for name := range strings.FieldsSeq(need + more) {
		s.Properties[name] = cmp.Or(known[name], &jsonschema.Schema{Type: "string"})
	}
	return s
}

// read gives arguments that fit the schema.
func (t tool) read(raw json.RawMessage) (args map[string]any, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &args)
	}
	if args == nil { // null is none
		args = map[string]any{}
	}
	r, failed := t.schema().Resolve(nil)
	if err = cmp.Or(err, failed); err == nil {
		err = r.Validate(args)
	}
	for name, v := range args {
		if n, ok := v.(float64); ok {
			args[name] = int(n)
		}
	}
	return args, err
}

// line is the command line of the verb.
func (t tool) line(args map[string]any) (line []string) {
	for word := range strings.FieldsSeq(t.verb) {
		before, name, ok := strings.Cut(word, "$")
		if value := args[name]; !ok {
			line = append(line, word)
		} else if value != nil {
			line = append(line, before+fmt.Sprint(value))
		}
	}
	return line
}
