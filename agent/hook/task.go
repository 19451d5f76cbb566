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

// Task makes the task, and the subject under which what it makes is delivered: by templates
// from JSON, or from a form as Slack sends it.
func (s Spec) Task(contentType string, body []byte) (task, subject string, err error) {
	sent, err := read(contentType, body)
	if err == nil {
		subject, err = fill(s.Deliver.Subject, sent)
	}
	task = string(body)
	if err == nil && s.Template != "" {
		task, err = fill(s.Template, sent)
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrTask, err)
	}
	task = strings.TrimSpace(task)
	return task, text.Line(subject, maxSubject), taken(task)
}

// maxSubject is how long a subject may be, in characters.
const maxSubject = 1000

// taken says whether a task can be one.
func taken(task string) error {
	switch {
	case task == "":
		return fmt.Errorf("%w: it is empty", ErrTask)
	case !utf8.ValidString(task):
		return fmt.Errorf("%w: it is not UTF-8", ErrTask)
	case len(task) > inbox.MaxTask:
		return fmt.Errorf("%w: it has %d bytes, the limit is %d: name fewer fields in the template", ErrTask, len(task), inbox.MaxTask)
	}
	return nil
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

// parse reads a template. It has the functions of Go's templates, and json.
func parse(said string) (*template.Template, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"line": func(n int, v any) string { return text.Line(fmt.Sprint(v), n) },
	}).Parse(said)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return t, nil
}

// fill fills a template, with no more than a task may have.
func fill(said string, sent any) (string, error) {
	t, err := parse(said)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(text.Capped(&b, inbox.MaxTask+1), sent)
	return b.String(), err
}
