package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNext(t *testing.T) {
	const stream = ": alive\n\nevent: a\r\nid: 7\r\ndata: {\"x\":1}\r\n\r\ndata: 1\ndata\ndata:2\nretry: 20\nretry: x\n\ndata: cut"
	want := []string{`"": "" "" 0s`, `"a": "7" "{\"x\":1}" 0s`, `"": "" "1\n\n2" 20ms`}
	for _, r := range []*Reader{NewReader(strings.NewReader(stream), 100), NewReader(iotest.OneByteReader(strings.NewReader(stream)), 100)} {
		raw := ""
		for _, want := range want {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			raw += string(e.Raw)
			if got := fmt.Sprintf("%q: %q %q %s", e.Name, e.ID, e.Data, e.Retry); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if _, err := r.Next(); err != io.EOF || raw+"data: cut" != stream {
			t.Errorf("%v after %q", err, raw)
		}
	}
}

// No stream is held in memory beyond the bound, with or without line breaks.
func TestTooLarge(t *testing.T) {
	for _, text := range []string{"data: " + strings.Repeat("x", 1000) + "\n\n", strings.Repeat("x", 1<<20), strings.Repeat("data: x\n", 100)} {
		if e, err := NewReader(strings.NewReader(text), 500).Next(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.20q, %d bytes: %v", e.Raw, len(text), err)
		}
	}
	if _, err := NewReader(strings.NewReader("data: x\n\n"), 9).Next(); err != nil {
		t.Error(err)
	}
}

// FuzzReader: no stream makes it stand still or read twice what is there once.
func FuzzReader(f *testing.F) {
	f.Add("event: progress\nid: 12\ndata: {}\n\n")
	f.Add(":\n\nid: x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := NewReader(strings.NewReader(text), 1000)
		for n := 0; ; n++ {
			if _, err := r.Next(); err != nil {
				return
			}
			if n > len(text) {
				t.Fatal("more events than bytes")
			}
		}
	})
}
