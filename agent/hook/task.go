package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"text/template"
	"unicode/utf8"

	"rouse/agent/inbox"
	"rouse/internal/text"
)

// ErrTask says that no task can be made of what was sent.
var ErrTask = errors.New("no task can be made of it")

// Task makes the task: by the template from JSON, or from a form as Slack sends it.
func (s Spec) Task(contentType string, body []byte) (string, error) {
	sent, err := read(contentType, body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTask, err)
	}
	said := string(body)
	if s.Template != "" {
		if said, err = s.fill(sent); err != nil {
			return "", fmt.Errorf("%w: %w", ErrTask, err)
		}
	}
	said = strings.TrimSpace(said)
	switch {
	case said == "":
		return "", fmt.Errorf("%w: it is empty", ErrTask)
	case !utf8.ValidString(said):
		return "", fmt.Errorf("%w: it is not UTF-8", ErrTask)
	case len(said) > inbox.MaxTask:
		return "", fmt.Errorf("%w: it has %d bytes, the limit is %d: name fewer fields in the template", ErrTask, len(said), inbox.MaxTask)
	}
	return said, nil
}

// read is what was sent as the template sees it.
func read(contentType string, body []byte) (any, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		fields := map[string]any{}
		for name, values := range form {
			fields[name] = strings.Join(values, " ")
		}
		return fields, err
	}
	var v any
	err := json.Unmarshal(body, &v)
	return v, err
}

// parse reads the template. It has the functions of Go's templates, and json.
func (s Spec) parse() (*template.Template, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"line": func(n int, v any) string { return text.Line(fmt.Sprint(v), n) },
	}).Parse(s.Template)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return t, nil
}

// fill fills the template, and no more than a task may have.
func (s Spec) fill(sent any) (string, error) {
	t, err := s.parse()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(text.Capped(&b, inbox.MaxTask+1), sent)
	return b.String(), err
}
