package scratchpad

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rouse/internal/text"
)

// Coerce is what update_scratchpad makes of a value that the model sent for a
// key. For a list a text becomes one item; null is the empty list, the empty
// text, no task; an empty task is none. An error is a text for the model: the
// key, what is wanted, what came.
func Coerce(key string, value any) (any, error) {
	if key == "last_updated" {
		return nil, errors.New("last_updated: is set when the state is saved, it cannot be set here")
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	v, err := plain(value, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %v", key, err)
	}
	k, _ := knownKey(key)
	text, isText := v.(string)
	switch {
	case isText && k.want == "a list":
		v = []any{text}
	case isText && text == "" && key == "current_task":
		v = nil
	}
	return fit(key, v)
}

// TaskText is one line for people that names a task: its text, or the field of
// a mapping that says most.
func TaskText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return text.Line(strings.Join(strings.Fields(v), " "), 1000)
	case map[string]any:
		for _, k := range []string{"task", "title", "name", "action", "description", "text", "summary"} {
			if t := TaskText(v[k]); t != "" {
				return t
			}
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return text.Line(string(b), 1000)
}
