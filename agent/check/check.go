// Package check tests conditions on the world, so that a task counts as done because
// Rouse saw it, and not because a model said so.
//
// A [Check] is a command that must succeed, a file that must be there and as it should,
// or an address that must answer. It stands beside a task in the memory, in an entry of
// the schedule, at a cycle's command line, or, for every cycle, in the configuration:
//
//	check: test -s report.csv                          # text for sh
//	check: {command: [go, test, ./...], timeout: 5m}
//	check: {file: report.csv, newer: true, size: ">100", matches: "^date,"}
//	check: {file: state.json, path: jobs[0].status, equals: ok}
//	check: {http: "https://example.com/health", status: 200, matches: fine}
//
// A list means all of them. Whoever gave a check stays with it: one that a model gave has
// `by: agent`, and is tested, but proves nothing to a person.
package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/text"
)

// Kinds of checks.
const (
	Command = "command"
	File    = "file"
	HTTP    = "http"
)

// Who gave a check, as `by` has it.
const (
	Operator = "operator"
	Agent    = "agent"
)

const (
	// DefaultTimeout is how long one check may take.
	DefaultTimeout = time.Minute

	maxTimeout = time.Hour
	maxChecks  = 20      // of one task
	maxText    = 4 << 10 // bytes of one value
)

// Check is one condition. Checks are made by [Parse].
type Check struct {
	Kind    string
	By      string // who gave it
	Timeout time.Duration
	// Own says that the operator wants it tested outside of the sandbox.
	Own bool
	// Standing says that it holds for every cycle.
	Standing bool
	// Bad says why it cannot be tested at all, "" where it can.
	Bad string

	Argv []string // of a command
	// Sum is the SHA-256, in hexadecimal, of those of its files that tools can write.
	Sum string

	Path  string // of a file
	Newer bool   // it was written in this cycle
	size  bound
	at    string // in its JSON or YAML
	want  any    // there
	URL   string // of http
	// Status that the address answers with, 0 for any that is no error.
	Status  int
	matches *regexp.Regexp

	// May, unless nil, says why it is not to be tested, or not to go on to an address.
	May func(url string) error

	text string
}

// Call is what a check does, as a call of a tool.
func (c Check) Call() (tool string, args map[string]string) {
	switch {
	case c.Kind == File:
		return "read_file", map[string]string{"path": c.Path}
	case c.Kind == HTTP:
		return "http_get", map[string]string{"url": c.URL}
	case len(c.Argv) == 3 && c.Argv[0] == "sh" && c.Argv[1] == "-c":
		return "shell", map[string]string{"command": c.Argv[2]}
	}
	return "shell", map[string]string{"command": "'" + strings.Join(c.Argv, "' '") + "'"}
}

// String is the check in one line, as it was written.
func (c Check) String() string { return c.text }

// Parse reads checks as YAML or JSON has them: one or a list. None is an error: what
// stands there was meant.
func Parse(v any) (list []Check, err error) {
	items := Items(v)
	switch {
	case len(items) == 0:
		return nil, errors.New("check: it is empty; " + forms)
	case len(items) > maxChecks:
		return nil, fmt.Errorf("check: %d are too many for one task, %d are the most", len(items), maxChecks)
	}
	for _, item := range items {
		c, err := parse(item)
		if err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// Must is [Parse] for checks that are tested whatever is wrong with them: one that cannot
// be read does not hold.
func Must(v any) (list []Check) {
	items := Items(v)
	if len(items) == 0 {
		items = []any{v}
	}
	for _, item := range items {
		c, err := parse(item)
		if err != nil {
			data, _ := json.Marshal(item)
			c = Check{Kind: cmp.Or(c.Kind, Command), By: c.By, Bad: err.Error(), text: text.Line(string(data), 200)}
		}
		list = append(list, c)
	}
	return list
}

// Read is a check as a command line has it: YAML, or else text for sh.
func Read(said string) (any, error) {
	var v any = said
	if strings.HasPrefix(strings.TrimSpace(said), "{") {
		if err := yaml.Unmarshal([]byte(said), &v); err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
	}
	_, err := Parse(v)
	return v, err
}

// Items are the elements of a value that is one check or a list of them.
func Items(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// forms says how a check is written.
const forms = `write {command: …}, {file: …} or {http: …}`

func parse(v any) (c Check, err error) {
	c = Check{By: Operator, Timeout: DefaultTimeout}
	m, ok := v.(map[string]any)
	if line, isText := v.(string); isText {
		m, ok = map[string]any{Command: line}, true
	}
	if !ok {
		return c, errors.New("neither text nor a mapping; " + forms)
	}
	if m["by"] == Agent {
		c.By = Agent
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if err := c.set(key, m[key]); err != nil {
			return c, fmt.Errorf("%s: %w", text.Line(key, 40), err)
		}
	}
	c.text = c.line(m)
	return c, c.whole(m)
}

// keys are those of a kind, beside those of all.
func keys(kind string) []string {
	switch kind {
	case File:
		return []string{File, "newer", "size", "matches", "path", "equals"}
	case HTTP:
		return []string{HTTP, "status", "matches"}
	}
	return []string{Command, "sha256"}
}

// whole says what does not go together.
func (c Check) whole(m map[string]any) error {
	_, at := m["path"]
	_, equals := m["equals"]
	switch {
	case c.Kind == "":
		return errors.New("it says nothing to test; " + forms)
	case at != equals:
		return errors.New("path and equals go together, as in {file: a.json, path: jobs[0].status, equals: ok}")
	case c.Own && c.By == Agent:
		return errors.New("sandbox: only a person's check can be tested outside of it")
	}
	for key := range m {
		if !slices.Contains(append([]string{"timeout", "sandbox", "by"}, keys(c.Kind)...), key) {
			return fmt.Errorf("%s: not a key of {%s: …}", key, c.Kind)
		}
	}
	return nil
}

// set takes one key.
func (c *Check) set(key string, v any) (err error) {
	said, isText := v.(string)
	if len(said) > maxText {
		return fmt.Errorf("longer than %d bytes", maxText)
	}
	switch key {
	case Command:
		c.Kind = Command
		c.Argv, err = argv(v)
	case File:
		c.Kind, c.Path, err = File, said, filled(v)
	case HTTP:
		c.Kind, c.URL, err = HTTP, said, filled(v)
	case "newer":
		c.Newer, err = yes(v)
	case "size":
		c.size, err = parseBound(fmt.Sprint(v))
	case "matches":
		if err = filled(v); err == nil {
			c.matches, err = regexp.Compile("(?m)" + said)
		}
	case "path":
		c.at, err = said, filled(v)
	case "equals":
		c.want = v
	case "status":
		if c.Status, err = strconv.Atoi(fmt.Sprint(v)); err != nil || c.Status < 100 || c.Status > 599 {
			err = errors.New("want a status of HTTP, such as 200")
		}
	case "sha256":
		c.Sum, err = strings.ToLower(said), filled(v)
	case "timeout":
		if c.Timeout, err = time.ParseDuration(said); err != nil || c.Timeout <= 0 || c.Timeout > maxTimeout {
			err = errors.New("want a length of time up to 1h, such as 90s or 5m")
		}
	case "sandbox":
		if c.Own = v == false || isText && said == "off"; !c.Own {
			err = errors.New("the only word is off: outside of the sandbox")
		}
	case "by":
		if c.By = said; said != Operator && said != Agent {
			err = errors.New("want operator or agent")
		}
	default:
		known := slices.Concat(keys(Command), keys(File), keys(HTTP), []string{"timeout", "sandbox", "by"})
		err = errors.New("unknown key" + cmp.Or(text.Meant(key, known), "; "+forms))
	}
	return err
}

// argv is a program with its arguments, or text for sh.
func argv(v any) (list []string, err error) {
	if err := filled(v); err == nil {
		return []string{"sh", "-c", v.(string)}, nil
	}
	items, _ := v.([]any)
	for _, item := range items {
		arg, ok := item.(string)
		if !ok {
			arg = fmt.Sprint(item)
		}
		if len(arg) > maxText || strings.ContainsRune(arg, 0) {
			return nil, errors.New("an argument is too long, or has a NUL")
		}
		list = append(list, arg)
	}
	if len(list) == 0 || list[0] == "" {
		return nil, errors.New("want a program with its arguments, or text for sh")
	}
	return list, nil
}

func filled(v any) error {
	if s, ok := v.(string); !ok || strings.TrimSpace(s) == "" || strings.ContainsRune(s, 0) {
		return errors.New("want text")
	}
	return nil
}

func yes(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, errors.New("want true or false")
	}
	return b, nil
}

// line is the check in one line for people.
func (c Check) line(m map[string]any) string {
	line := c.Kind + " "
	switch {
	case c.Kind == Command && len(c.Argv) == 3 && m[Command] == c.Argv[2]:
		line += c.Argv[2]
	case c.Kind == Command:
		line += strings.Join(c.Argv, " ")
	default:
		line += cmp.Or(c.Path, c.URL)
	}
	for _, key := range keys(c.Kind)[1:] {
		if v, ok := m[key]; ok && key != "sha256" {
			line += fmt.Sprintf(", %s %v", key, v)
		}
	}
	return text.Line(line, 200)
}

// bound is what a size is compared with.
type bound struct {
	op string
	n  int64
}

func parseBound(s string) (b bound, err error) {
	s = strings.ReplaceAll(s, " ", "")
	for _, b.op = range []string{">=", "<=", ">", "<", "="} {
		if rest, ok := strings.CutPrefix(s, b.op); ok {
			s = rest
			break
		}
	}
	shift := 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(s, unit); ok {
			s, shift = rest, 10*(i+1)
		}
	}
	b.n, err = strconv.ParseInt(s, 10, 64)
	if err != nil || b.n < 0 || b.n > 1<<60>>shift {
		return b, errors.New(`want a size, such as ">100", "<=16KiB" or 0`)
	}
	b.n <<= shift
	return b, nil
}

// holds says whether a size is as it should; without a bound each is.
func (b bound) holds(n int64) bool {
	switch b.op {
	case ">=":
		return n >= b.n
	case "<=":
		return n <= b.n
	case ">":
		return n > b.n
	case "<":
		return n < b.n
	case "=":
		return n == b.n
	}
	return true
}
