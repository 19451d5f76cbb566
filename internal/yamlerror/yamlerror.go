// Package yamlerror tells a person what is wrong with a YAML file: in one line, and
// without the names of Go types that the library's errors have.
package yamlerror

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/lazy"
)

var (
	unknownKey = lazy.Regexp{Expr: `field (\S+) not found in type .*`}
	wrongType  = lazy.Regexp{Expr: "(?s)cannot unmarshal !!(\\w+)(?: (`.*`))? into (\\S+).*"}
)

// Text makes one line of an error of the library.
func Text(err error) string {
	texts := []string{err.Error()}
	if te := (*yaml.TypeError)(nil); errors.As(err, &te) {
		texts = slices.Clone(te.Errors)
	}
	for i, text := range texts {
		text = unknownKey.Get().ReplaceAllString(text, `unknown key "$1"`)
		if m := wrongType.Get().FindStringSubmatchIndex(text); m != nil {
			part := func(n int) string { return string(wrongType.Get().ExpandString(nil, "$"+strconv.Itoa(n), text, m)) }
			text = text[:m[0]] + found(part(1), part(2)) + " where " + wanted(part(3)) + " is wanted"
		}
		texts[i] = strings.Join(strings.Fields(text), " ")
	}
	return strings.TrimPrefix(strings.Join(texts, "; "), "yaml: ")
}

// found says what stands in the file.
func found(tag, value string) string {
	switch tag {
	case "seq":
		return "a list"
	case "map":
		return "a mapping"
	}
	return value
}

// wanted says what a value of a Go type is written as.
func wanted(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case goType == "string":
		return "a text"
	case goType == "bool":
		return "true or false"
	}
	return "a mapping"
}
