package check

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// walk follows a path such as jobs[0].status.
func walk(tree any, path string) (any, error) {
	steps := strings.FieldsFunc(strings.TrimPrefix(path, "$"), func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for i, step := range steps {
		missing := fmt.Errorf("there is no %s", strings.Join(steps[:i+1], "."))
		switch node := tree.(type) {
		case map[string]any:
			value, ok := node[step]
			if !ok {
				return nil, missing
			}
			tree = value
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(node) {
				return nil, missing
			}
			tree = node[n]
		default:
			return nil, missing
		}
	}
	return tree, nil
}

// plain is a value as JSON, a number as its value: 1, 1.0 and 1e0 are one.
func plain(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if n, ok := new(big.Rat).SetString(string(data)); ok && len(data) < 40 {
		return n.RatString()
	}
	return string(data)
}
