// Package tools says what a tool is and holds the set of them that a home has.
//
// A [Tool] is data: a name, the prose that the model reads, a JSON Schema and a
// function. [New] makes one from a typed Go function, so that adding a tool is
// one Go file, one Markdown file and one line of registration. The tools
// themselves are in the folders below this one.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"rouse/internal/object"
	"rouse/internal/proc"
	"rouse/internal/sandbox"
	"rouse/internal/text"
)

// Tool is one thing that the model may ask for.
type Tool struct {
	// Name matches [A-Za-z0-9_-]{1,64}.
	Name string
	// Description is the Markdown that the model reads.
	Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema *jsonschema.Schema
	// Raw, unless nil, is the schema as somebody else wrote it, which models are
	// shown in the place of Schema.
	Raw json.RawMessage
	// Noted says that Raw has [NoteParam] from [WithNote], as in the copy of a tool.
	Noted bool
	// ReadOnly says that a call changes and sends nothing, so that it needs no
	// durable intent and may be asked for in JSON that had to be repaired.
	ReadOnly bool
	// Streams are the text parameters that a call may read as [Call.Text], so
	// that a reference to a result of any size passes in constant memory.
	Streams []string
	// Verbatim are the parameters that are executed or dialled: they must hold
	// no reference to what another tool gave back.
	Verbatim []string
	// Shown is up to how many bytes a result is shown whole that is larger than what others
	// may be; 0 is no more.
	Shown int
	// Source is what its results come from where that is no tool of Rouse's own, such as
	// "mcp github", and Reads what of that they are by the operator's word: none, outside
	// or private; "" is unsaid.
	Source, Reads string
	// Effect is what its calls may change, as the operator or the walls say: none,
	// workspace or outward; "" is unsaid.
	Effect string
	// Beyond, unless nil, says that a call of a tool of Rouse's own changes what is not in
	// the workspace.
	Beyond func(args json.RawMessage) bool
	// Hidden says that models are not shown it: they find it by find_tool.
	Hidden bool
	// Run carries out one call whose arguments fit Schema. What goes wrong is a
	// [Result] for the model to read.
	Run func(ctx context.Context, call Call) Result

	drawn bool // Schema is from [New]
}

// Call is one request to run a tool.
type Call struct {
	// Args are the arguments, an object that fits the tool's schema.
	Args json.RawMessage
	// Output takes content as it comes, of any size. It is never nil.
	// What is written here is the content of a result whose Content is nil.
	Output io.Writer
	// Streams hold the values of those [Tool.Streams] that are not in Args.
	Streams map[string]io.Reader
	// Started, unless nil, is told of each process that the call starts, so
	// that a later cycle can end it if this one dies.
	Started func(proc.Identity)
	// Hop, unless nil, says why a request that is redirected may not go on to an address.
	Hop func(url string) error
}

// Text reads a parameter that is one of [Tool.Streams]; inline is its value in
// Args.
func (c Call) Text(param, inline string) io.Reader {
	if r, ok := c.Streams[param]; ok {
		return r
	}
	return strings.NewReader(inline)
}

// Result is what a call gave back.
type Result struct {
	OK bool
	// Content is a JSON value, mostly text; nil if it went to [Call.Output].
	Content any
	// Metadata says what Content is: path, bytes, exit code.
	Metadata map[string]any
	// Media are pictures and other binary contents beside Content.
	Media []Media
	// Whole says that Content, of at most 16 KiB, is shown as it is and not parked.
	Whole bool
	// Error says what went wrong and how to mend it, in one line; only when not OK.
	Error string
	// From are the places outside that it came from, such as "http_get example.com", and
	// origin.Private where the call read what is private; none is the home's own.
	From []string
	// Read are the files and folders that it was read from, without links, and cycles.
	Read []string
	// Refused is what the sandbox kept the call's process from.
	Refused []sandbox.Refusal
}

// Refuse says of a call what the sandbox kept its process from.
func (r *Result) Refuse(list []sandbox.Refusal) {
	if len(list) == 0 {
		return
	}
	r.Refused = append(r.Refused, list...)
	what := text.Join(list, ", ", sandbox.Refusal.String)
	if r.OK {
		r.Tell("sandbox_refused", what)
		return
	}
	advice := "go on without"
	if slices.ContainsFunc(list, func(r sandbox.Refusal) bool { return r.Kind == sandbox.Host || r.Kind == sandbox.Net }) {
		advice = "use http_get, or go on without"
	}
	r.Error += fmt.Sprintf("; the sandbox refused: %s; only the operator can allow that: %s", what, advice)
}

// Tell says more of a result.
func (r *Result) Tell(key, what string) {
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata[key] = what
}

// Unsent is the metadata of an http_get that was refused before anything went out.
const Unsent = "unsent"

// Media is a picture, or another binary content of its own.
type Media struct {
	Type string `json:"type"` // the media type, as image/png
	Data []byte `json:"data"`
	// ID is where it lies in the scratchpad, and Sum its SHA-256, once they are known.
	ID  string `json:"-"`
	Sum string `json:"-"`
}

// Fail is the result of a call that did not work.
func Fail(format string, args ...any) Result {
	return Result{Error: fmt.Sprintf(format, args...)}
}

// New makes a tool from a function of typed arguments. The schema is drawn from
// A: `json` tags name the parameters, `jsonschema` tags describe them, and
// `omitempty` makes one optional. It panics if A has no schema, which is a
// programmer's error.
func New[A any](name, description string, run func(context.Context, Call, A) Result) Tool {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	return Tool{
		Name: name, Description: strings.TrimSpace(description), Schema: schema, drawn: true,
		Run: func(ctx context.Context, call Call) Result {
			var args A
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return Fail("arguments: %v", err)
			}
			return run(ctx, call, args)
		},
	}
}

// TakesText says whether a parameter takes texts, as most do, by the schema of a
// tool's parameters.
func TakesText(schema json.RawMessage, param string) bool {
	root, err := object.Parse(schema)
	if err != nil {
		return true
	}
	var kind any
	_ = json.Unmarshal(root.Sub("properties").Sub(param).Get("type"), &kind) // none is any type
	kinds, ok := kind.([]any)
	return !ok && (kind == nil || kind == "string") || slices.Contains(kinds, any("string"))
}

// Said is the effect that is said of a call, or of any where args is nil.
func (t Tool) Said(args json.RawMessage) string {
	if t.Beyond != nil && t.Beyond(args) {
		return "outward"
	}
	return t.Effect
}

// CheckSaid reports what an operator cannot mean by [Tool.Effect] and [Tool.Reads].
func CheckSaid(effect, reads string) error {
	if !slices.Contains([]string{"", "none", "workspace", "outward"}, effect) {
		return fmt.Errorf("effect %q: use none, workspace or outward", effect)
	}
	if !slices.Contains([]string{"", "none", "outside", "private"}, reads) {
		return fmt.Errorf("reads %q: use none, outside or private", reads)
	}
	return nil
}

// Check reports in one line how args do not fit the tool's schema.
func (t Tool) Check(args json.RawMessage) error {
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return fmt.Errorf("arguments are not JSON: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return errors.New("arguments must be a JSON object")
	}
	r, err := t.Schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("schema of %s: %w", t.Name, err)
	}
	return r.Validate(v)
}
