package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/agent/check"
	"rouse/internal/text"
)

// List is the schedule of a home: `schedule:` in its rouse.yaml.
type List []Entry

// UnmarshalYAML reads one entry or a list of them; an entry is a mapping, or a
// cron specification alone. Errors name the line.
func (l *List) UnmarshalYAML(n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	lines := map[string]int{}
	*l = nil
	for _, n := range nodes {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		e, line, err := readEntry(n)
		if err != nil {
			return fmt.Errorf("line %d: schedule: %w", line, err)
		}
		if line := lines[e.key]; line > 0 {
			return fmt.Errorf("line %d: schedule: the same entry stands in line %d", n.Line, line)
		}
		lines[e.key] = n.Line
		*l = append(*l, e)
	}
	return nil
}

// readEntry reads one entry; line is where the error is.
func readEntry(n *yaml.Node) (e Entry, line int, err error) {
	e = defaults()
	lines := map[string]int{}
	switch n.Kind {
	case yaml.ScalarNode:
		e.Cron = n.Value
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if lines[key.Value] > 0 {
				return e, key.Line, fmt.Errorf("the key %s stands in line %d too", key.Value, lines[key.Value])
			}
			lines[key.Value] = key.Line
			if err := e.set(key.Value, n.Content[i+1]); err != nil {
				return e, key.Line, err
			}
		}
	default:
		return e, n.Line, errors.New("an entry is a cron specification, or a mapping with the key cron")
	}
	if e.Cron == "" {
		return e, n.Line, errors.New("the key cron is missing")
	}
	if err = e.check(); err == nil {
		return e, 0, nil
	}
	key, _, _ := strings.Cut(err.Error(), " ")
	if strings.HasPrefix(key, `"`) {
		key = "cron"
	}
	return e, cmp.Or(lines[key], n.Line), err
}

// set takes one key of a mapping.
func (e *Entry) set(key string, n *yaml.Node) (err error) {
	if key == "retry" {
		e.Retry, err = waits(n)
		return err
	}
	if key == "check" {
		if err = n.Decode(&e.Check); err == nil {
			_, err = check.Parse(e.Check)
		}
		return err
	}
	if key == "deliver" {
		if err = n.Decode(&e.Deliver); err != nil || len(n.Content) != 4 || e.Deliver.File == "" || len(e.Deliver.To) == 0 {
			err = errors.New("deliver: use {file: report.md, to: [NAME]}, with names of sinks of notify")
		}
		return err
	}
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s: a single value is wanted", key)
	}
	texts := map[string]*string{
		"cron": &e.Cron, "timezone": &e.Timezone, "task": &e.Task, "missed": &e.Missed, "overlap": &e.Overlap,
		"not_before": &e.NotBefore.text, "not_after": &e.NotAfter.text,
	}
	lengths := map[string]*time.Duration{"missed_window": &e.MissedWindow, "jitter": &e.Jitter}
	switch v := n.Value; {
	case texts[key] != nil:
		*texts[key] = v
	case lengths[key] != nil:
		*lengths[key], err = duration(v)
	case key == "idle":
		if v != "skip" && v != "run" {
			err = errors.New("use skip or run")
		}
		e.IdleSkip = v == "skip"
	default:
		known := slices.Concat(slices.Sorted(maps.Keys(texts)), slices.Sorted(maps.Keys(lengths)), []string{"retry", "check", "deliver", "idle"})
		return fmt.Errorf("unknown key %q%s", key, text.Meant(key, known))
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", key, n.Value, err)
	}
	return nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("not a length of time; write 90s, 2m or 1h30m")
	}
	return d, nil
}

// waits reads a list of lengths of time, one alone, or off for none.
func waits(n *yaml.Node) (list []time.Duration, err error) {
	nodes := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "off":
		return nil, nil
	case n.Kind == yaml.ScalarNode:
		nodes = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		return nil, errors.New("retry: use a list of lengths of time, such as [5m, 15m, 30m], or off")
	}
	for _, n := range nodes {
		d, err := duration(n.Value)
		if err != nil {
			return nil, fmt.Errorf("retry %q: not a length of time; write [5m, 15m, 30m], or off", n.Value)
		}
		list = append(list, d)
	}
	return list, nil
}

// Next is the first slot of any entry after t, zero if there is none.
func (l List) Next(t time.Time) (first time.Time) {
	for _, e := range l {
		if n := e.Next(t); !n.IsZero() && (first.IsZero() || n.Before(first)) {
			first = n
		}
	}
	return first
}
