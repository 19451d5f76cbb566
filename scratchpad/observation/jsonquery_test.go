package observation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestJSONQueries(t *testing.T) {
	doc := `{"users": [{"name": "Ann", "id": 12345678901234567890}, {"name": "Bob", "id": 2}], "n": 1.50}`
	lines := `{"level":"info","n":1}` + "\n" + `{"level":"error","n":2}` + "\n"
	tests := []struct {
		data, query, want string
		cut               bool
		err               string
	}{
		{data: doc, query: `.users[].name`, want: "\"Ann\"\n\"Bob\"\n"},
		{data: doc, query: `.users[0]`, want: `{"id":12345678901234567890,"name":"Ann"}` + "\n"},
		{data: doc, query: `.users | length`, want: "2\n"},
		{data: doc, query: `.nothing`, want: "null\n"},
		{data: doc, query: `empty`, want: ""},
		{data: lines, query: `select(.level == "error").n`, want: "2\n"},
		{data: doc, query: `range(1000)`, want: "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", cut: true},
		{data: doc, query: `"é" * 100`, want: `"éééééééééééééé`, cut: true},
		{data: doc, query: `.users |`, err: "not in jq's syntax"},
		{data: doc, query: `.users.name`, err: "expected an object but got: array"},
		{data: doc, query: `nofunction`, err: "function not defined"},
		{data: doc, query: `import "x" as x; 1`, err: "module"},
		{data: doc, query: `$ENV | length`, want: "0\n"},
		{data: doc, query: `input`, err: "input"},
		{data: "{", query: `.`, err: "unexpected EOF"},
		{data: "text", query: `.`, err: "no JSON after byte 0: invalid character"},
		{data: "", query: `.`, want: ""},
		{data: doc, query: strings.Repeat(".", 1001), err: "1001 bytes"},
		{data: `1 "two" [3]`, query: `.`, want: "1\n\"two\"\n[3]\n"},
	}
	turn := begin(t, openStore(t, "", Options{}), "turn")
	for _, tt := range tests {
		limit := 100
		if tt.cut {
			limit = 30
		}
		r, err := get(t, turn, put(t, turn, []byte(tt.data)).ID).JSON(context.Background(), tt.query, limit)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.30s: %v, %s", tt.query, err, r.Data)
			}
			continue
		}
		if err != nil || string(r.Data) != tt.want || r.Cut != tt.cut {
			t.Errorf("%s: %q, cut %v, %v", tt.query, r.Data, r.Cut, err)
		}
	}
}

func TestJSONQueryOfALargeContent(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	var b strings.Builder
	b.WriteString("[")
	for i := range 20_000 {
		fmt.Fprintf(&b, `{"id": %d, "text": "some text"},`, i)
	}
	b.WriteString(`{"id": -1}]`)
	r, err := get(t, turn, put(t, turn, []byte(b.String())).ID).JSON(context.Background(), `length, .[19999].id, .[-1].id`, 100)
	if err != nil || string(r.Data) != "20001\n19999\n-1\n" {
		t.Errorf("%q, %v", r.Data, err)
	}
}

// TestJSONQueryIsBounded asks for what would take all memory or all time.
func TestJSONQueryIsBounded(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	c := get(t, turn, put(t, turn, []byte(`{"a": 1}`)).ID)
	large := get(t, turn, put(t, turn, []byte(`"`+strings.Repeat("x", 3<<20)+`"`)).ID)
	tests := []struct {
		c     *Content
		query string
		most  bounds
		want  string
	}{
		{c, `[range(1e9)]`, bounds{value: 1 << 20, time: time.Minute, memory: 10 << 20}, "more than 10 MiB of memory"},
		{c, `reduce range(99) as $i ("x"; . + .) | length`, bounds{value: 1 << 20, time: time.Minute, memory: 10 << 20}, "more than 10 MiB of memory"},
		{c, `def f: f; f`, bounds{value: 1 << 20, time: 50 * time.Millisecond, memory: 1 << 30}, "more than 50ms"},
		{large, `length`, bounds{value: 2 << 20, time: time.Minute, memory: 1 << 30}, "more than 2 MiB"},
	}
	for _, tt := range tests {
		if r, err := tt.c.query(context.Background(), tt.query, 100, tt.most); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %s", tt.query, err, r.Data)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the cycle is over"))
	if _, err := c.JSON(ctx, `def f: f; f`, 100); err == nil || !strings.Contains(err.Error(), "the cycle is over") {
		t.Errorf("a context that is over: %v", err)
	}
}
