package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The key of the first model goes to no other server by itself.
func TestFallbacks(t *testing.T) {
	c, err := load(t, `
model:
  name: one
  base_url: https://a.example/v1
  api_key_env: A
  api: responses
  temperature: 0
  reasoning_effort: low
  extra: {top_p: 0.5, thinking: {budget: [1, 2]}}
  fallback:
    - name: two
    - {name: three, base_url: "http://127.0.0.1:11434/v1"}
    - {name: four, base_url: "https://b.example/v1", api_key_env: B, api: messages, extra: {x: null}}
    - {name: five, api_key_env: C, temperature: 2, reasoning_effort: max, extra: {}}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.Model.Fallbacks() {
		style, err := m.Style()
		if err != nil {
			t.Error(err)
		}
		got = append(got, strings.Join([]string{m.Name, m.BaseURL, m.APIKeyEnv, m.API, style}, " "))
	}
	want := []string{
		`two https://a.example/v1 A responses {"temperature":0,"reasoning_effort":"low","extra":{"thinking":{"budget":[1,2]},"top_p":0.5}}`,
		"three http://127.0.0.1:11434/v1  auto ", `four https://b.example/v1 B messages {"extra":{"x":null}}`,
		`five https://a.example/v1 C responses {"temperature":2,"reasoning_effort":"max"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c, err := load(t, "model: {fallback: [{name: m, base_url: 'http://127.0.0.1:1/v1'}]}\n", nil); err != nil || c.Model.Provider != "openai" {
		t.Errorf("a fallback, and no key for the first: %s %v", c.Model.Provider, err)
	}
	for text, want := range map[string]string{
		"[{base_url: 'http://a.example'}]":     "model.fallback[0]: the key name is missing",
		"[{name: m, base_url: a.example}]":     "model.fallback[0].base_url: use an address such as",
		"[{name: m, api_key_env: 'sk-12345'}]": "model.fallback[0].api_key_env: name the environment variable",
		"[{name: m, key: x}]":                  `unknown key "key"`,
		"[{name: m, reasoning_effort: hgih}]":  `line 1: model.fallback[0].reasoning_effort "hgih": use none, minimal, low, medium, high, xhigh or max`,
		"[{name: m}], temperature: 2.1":        "line 1: model.temperature: use 0 to 2",
		"[{name: m}], temperature: .nan":       "model.temperature: use 0 to 2",
		"[{name: m}], temperature: warm":       "line 1: ",
		"[{name: m}], extra: [1]":              "line 1: ",
		"[{name: m}], api: anthropic":          `line 1: model.api "anthropic": use auto, chat, responses or messages`,
		"[{name: m}], extra: {messages: []}":   "line 1: model.extra.messages: Rouse says this itself; take it out",
		"[{name: m}], extra: {max_tokens: 9}":  "line 1: model.extra.max_tokens: limits could not count on it",
		"[{name: m}], extra: {a: {1: .inf}}":   "model.extra: use what JSON can say",
	} {
		if _, err := load(t, "model: {fallback: "+text+"}\n", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
