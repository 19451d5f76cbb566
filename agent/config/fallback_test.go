package config

import (
	"strings"
	"testing"
)

// The key of the first model goes to no other server by itself.
func TestFallbacks(t *testing.T) {
	c, err := load(t, `
model:
  name: one
  base_url: https://a.example/v1
  api_key_env: A
  fallback:
    - name: two
    - {name: three, base_url: "http://127.0.0.1:11434/v1"}
    - {name: four, base_url: "https://b.example/v1", api_key_env: B}
    - {name: five, api_key_env: C}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.Model.Fallbacks() {
		got = append(got, strings.Join([]string{m.Name, m.BaseURL, m.APIKeyEnv}, " "))
	}
	want := "two https://a.example/v1 A, three http://127.0.0.1:11434/v1 , four https://b.example/v1 B, five https://a.example/v1 C"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
	if c, err := load(t, "model: {fallback: [{name: m, base_url: 'http://127.0.0.1:1/v1'}]}\n", nil); err != nil || c.Model.Provider != "openai" {
		t.Errorf("a fallback, and no key for the first: %s %v", c.Model.Provider, err)
	}
	for text, want := range map[string]string{
		"[{base_url: 'http://a.example'}]":     "model.fallback[0]: the key name is missing",
		"[{name: m, base_url: a.example}]":     "model.fallback[0].base_url: use an address such as",
		"[{name: m, api_key_env: 'sk-12345'}]": "model.fallback[0].api_key_env: name the environment variable",
		"[{name: m, key: x}]":                  `unknown key "key"`,
	} {
		if _, err := load(t, "model: {fallback: "+text+"}\n", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
