package budget

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/journal"
)

func TestPrices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	const text = "currency: EUR\nmodels:\n  small: {input: 0.25, cached: 0.025, output: 2}\n  local: {input: 0, output: 0}\n  plain: {input: 3, output: 15}\n  written: {input: 3, written: 6, output: 15}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := LoadPrices(path)
	if err != nil || p.Currency != "EUR" {
		t.Fatal(p, err)
	}
	tests := []struct {
		model                          string
		input, cached, written, output int
		want                           string
	}{
		{"small", 1e6, 0, 0, 0, "0.25"},
		{"small", 1e6, 1e6, 0, 0, "0.025"},
		{"small", 1e6, 2e5, 8e5, 0, "0.255"},
		{"small-2026-08-07", 1000, 400, 0, 100, "0.00036"},
		{"small-20260807", 0, 0, 0, 1, "0.000002"},
		{"local", 1e9, 0, 0, 1e9, "0"},
		{"plain", 2, 1, 0, 0, "0.000006"},
		{"plain", 1, 5, 5, 0, "0.000003"}, // no more is cached than was sent
		{"written", 1e6, 0, 1e6, 0, "6"},
	}
	for _, tt := range tests {
		price, ok := p.Of(tt.model)
		if got := price.Cost(journal.Usage{Input: tt.input, Cached: tt.cached, Written: tt.written, Output: tt.output, Reasoning: tt.output}).String(); !ok || got != tt.want {
			t.Errorf("%s: %s, want %s", tt.model, got, tt.want)
		}
	}
	if _, err := p.Need("big"); err == nil || !strings.Contains(err.Error(), "prices.yaml has no price for big; write there") {
		t.Errorf("%v", err)
	}
	if p, err := LoadPrices(path + ".none"); err != nil || p.Currency != "" {
		t.Error(p, err)
	}
}

func TestPriceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"models: {a: {input: 1}}":                      "line 1: write {input:",
		"models:\n  a: {input: 1, output: much}":       `line 2: output: "much"`,
		"models: {a: {input: 1, output: -2}}":          `output: "-2"`,
		"models: {a: {input: 1, output: 2, cache: 1}}": "cache:",
		"models: 3":                                      "line 1: `3` where a mapping is wanted",
		"model: {}":                                      `line 1: unknown key "model"`,
		"models: {a: 5}":                                 "line 1: write {input:",
		"model: {a: {input: 1, output: 2}}":              "model",
		"models: {a: {input: .nan, output: 2}}":          ".nan",
		"models: {a: {input: 1, output: 1000000000000}}": "1000000000000",
	} {
		_, err := parsePrices([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestMoney(t *testing.T) {
	for _, text := range []string{"0", "0.25", "1", "-3.5", "0.000000001", "999999999.5"} {
		m, err := ParseMoney(text)
		if err != nil || m.String() != text {
			t.Errorf("%s: %s, %v", text, m, err)
		}
	}
}
