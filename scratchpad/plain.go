package scratchpad

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rouse/internal/object"
)

// maxDepth is how deep lists and mappings may nest within one key.
const maxDepth = 100

var errDeep = errors.New("nested deeper than 100 levels")

// plain turns a value from JSON, or one that JSON can write, into a plain one.
// It gives the same for a value and for that value sent through JSON.
func plain(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		return toValidUTF8(v), nil
	case json.Number:
		return number(string(v))
	case []any:
		return plainList(v, depth)
	case map[string]any:
		return plainMap(v, depth)
	}
	return throughJSON(v, depth)
}

// toValidUTF8 replaces every invalid byte as encoding/json does.
func toValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func plainList(in []any, depth int) (any, error) {
	if depth >= maxDepth {
		return nil, errDeep
	}
	out := make([]any, len(in))
	for i, v := range in {
		p, err := plain(v, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func plainMap(in map[string]any, depth int) (any, error) {
	if depth >= maxDepth {
		return nil, errDeep
	}
	out := make(map[string]any, len(in))
	for k, v := range in {
		if !utf8.ValidString(k) {
			return nil, fmt.Errorf("the key %.40q is not UTF-8", k)
		}
		p, err := plain(v, depth+1)
		if err != nil {
			return nil, err
		}
		out[k] = p
	}
	return out, nil
}

// throughJSON takes the types of Go callers: ints, floats, slices of strings.
func throughJSON(v any, depth int) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("not a JSON value: %v", err)
	}
	var out any
	if err := object.Decode(b, &out); err != nil {
		return nil, fmt.Errorf("not a JSON value: %v", err)
	}
	return plain(out, depth)
}

// number checks a JSON number and writes its exponent as YAML 1.1 wants it: 1e3
// would be text there, 1.0e+3 is a number everywhere.
func number(s string) (json.Number, error) {
	if !isJSONNumber(s) {
		return "", fmt.Errorf("%.40q is not a JSON number", s)
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return "", fmt.Errorf("the number %.40s is out of range", s)
	}
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return json.Number(s), nil
	}
	mantissa, exp := s[:i], s[i+1:]
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exp[0] != '+' && exp[0] != '-' {
		exp = "+" + exp
	}
	return json.Number(mantissa + "e" + exp), nil
}

func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s)) &&
		strings.TrimSpace(s) == s
}

// same reports whether two plain values are equal. Numbers are compared as they
// are written: 1 and 1.0 differ.
func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}
