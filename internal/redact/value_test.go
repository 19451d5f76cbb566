package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAny(t *testing.T) {
	r := New(map[string]string{"A": "12345678"})
	type object = map[string]any
	tests := []struct{ name, in, want any }{
		{"null", nil, nil},
		{"text", "x12345678", "x[REDACTED:A]"},
		{"number", 1.5, 1.5},
		{"literal", json.Number("12345678"), "[REDACTED:A]"},
		{"harmless literal", json.Number("1234"), json.Number("1234")},
		{"list", []any{"12345678", true, nil}, []any{"[REDACTED:A]", true, nil}},
		{"key", object{"12345678": 1, "b": object{"c": "12345678"}}, object{"[REDACTED:A]": 1, "b": object{"c": "[REDACTED:A]"}}},
		{"other list", []string{"12345678"}, []any{"[REDACTED:A]"}},
		{"struct", struct{ A, B string }{"12345678", "b"}, object{"A": "[REDACTED:A]", "B": "b"}},
		{"raw JSON", json.RawMessage(`{"a":"\u0031"}`), object{"a": "1"}},
		{"escaped without need", json.RawMessage(`"\u00312345678"`), "[REDACTED:A]"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, r.Any(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAnyLeavesItsArgument(t *testing.T) {
	in := map[string]any{"a": []any{"12345678"}}
	New(map[string]string{"A": "12345678"}).Any(in)
	if diff := cmp.Diff(map[string]any{"a": []any{"12345678"}}, in); diff != "" {
		t.Error(diff)
	}
}

func TestError(t *testing.T) {
	r := New(map[string]string{"A": "12345678"})
	clean := &fs.PathError{Op: "open", Path: "/a", Err: fs.ErrNotExist}
	if got := r.Error(clean); got != error(clean) {
		t.Errorf("a clean error became %v", got)
	}
	if r.Error(nil) != nil {
		t.Error("no error became one")
	}
	dirty := fmt.Errorf("get: %w", &fs.PathError{Op: "open", Path: "/12345678", Err: fs.ErrNotExist})
	got := r.Error(dirty)
	if got.Error() != "get: open /[REDACTED:A]: file does not exist" {
		t.Errorf("text %q", got)
	}
	if !errors.Is(got, fs.ErrNotExist) {
		t.Error("errors.Is no longer finds the cause")
	}
	var inner *fs.PathError
	if errors.As(got, &inner) {
		t.Errorf("errors.As gives back %q", inner.Path)
	}
}
