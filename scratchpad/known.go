package scratchpad

import (
	"encoding/json"
	"fmt"
)

// known is a key that every state has, and what it may hold.
type known struct {
	name string
	want string // what it may hold, in words
	zero func() any
	// fit turns a plain value into the one that the key holds.
	fit func(v any) (any, bool)
}

// knownKeys are in the order of a new file.
func knownKeys() []known {
	list := func(name string) known { return known{name, "a list", emptyList, fitList} }
	return []known{
		list("goals"),
		{"current_task", "text, a mapping or null", null, fitTask},
		list("pending_actions"),
		list("completed_tasks"),
		{"notes", "text", emptyText, fitText},
		{"last_updated", "text or null", null, fitStamp},
	}
}

func knownKey(name string) (known, bool) {
	for _, k := range knownKeys() {
		if k.name == name {
			return k, true
		}
	}
	return known{}, false
}

// fit checks a plain value of any key. The error names the key, what it wants
// and what it got.
func fit(key string, v any) (any, error) {
	k, ok := knownKey(key)
	if !ok {
		return v, nil
	}
	if fitted, ok := k.fit(v); ok {
		return fitted, nil
	}
	return nil, fmt.Errorf("%s: want %s, got %s", key, k.want, describe(v))
}

func null() any      { return nil }
func emptyList() any { return []any{} }
func emptyText() any { return "" }

func fitList(v any) (any, bool) {
	if v == nil {
		return []any{}, true
	}
	l, ok := v.([]any)
	return l, ok
}

func fitText(v any) (any, bool) {
	if v == nil {
		return "", true
	}
	s, ok := v.(string)
	return s, ok
}

func fitStamp(v any) (any, bool) {
	_, ok := v.(string)
	return v, ok || v == nil
}

func fitTask(v any) (any, bool) {
	switch v.(type) {
	case nil, string, map[string]any:
		return v, true
	}
	return nil, false
}

// describe names the kind of a plain value, with the value where it is short.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case json.Number:
		return fmt.Sprintf("the number %.40s", string(v))
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("a %T", v)
}
