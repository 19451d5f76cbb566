package yamlerror

import (
	"bytes"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"n: many":           "line 1: `many` where a whole number is wanted",
		"n: \"a\\nb\"":      "line 1: `a b` where a whole number is wanted",
		"s: [a]":            "line 1: a list where a text is wanted",
		"l: 3":              "line 1: `3` where a list is wanted",
		"b: maybe":          "line 1: `maybe` where true or false is wanted",
		"m: 3":              "line 1: `3` where a mapping is wanted",
		"x: {y: 3}":         "line 1: `3` where a mapping is wanted",
		"- a":               "line 1: a list where a mapping is wanted",
		"a: 1\nc: 2\ns: []": `line 1: unknown key "a"; line 2: unknown key "c"; line 3: a list where a text is wanted`,
		"s: [":              "line 1: did not find expected node content",
	} {
		var v struct {
			N int
			S string
			L []string
			B bool
			M map[string]int
			X struct{ Y struct{ Z int } }
		}
		dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
		dec.KnownFields(true)
		if err := dec.Decode(&v); err == nil || Text(err) != want {
			t.Errorf("%q: %v\n got %s\nwant %s", text, err, Text(err), want)
		}
	}
}
