package wire

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	var stream []byte
	var want []Event
	for _, data := range []string{"", "a\nb", strings.Repeat("x", 200_000), "é\x00"} {
		b, err := Encode(int64(len(stream)), EventDone, Done{Error: data})
		if err != nil {
			t.Fatal(err)
		}
		stream = append(stream, b...)
		lines := strings.Split(string(b), "\n")
		want = append(want, Event{EventDone, int64(len(stream)), []byte(strings.TrimPrefix(lines[2], "data: "))})
	}
	text := ": ping\n\n" + strings.ReplaceAll(string(stream), "\n\n", "\n\n: ping\n\n")
	r := NewReader(strings.NewReader(text + "event: cut\ndata: x\n"))
	for i, e := range want {
		got, err := r.Next()
		if diff := cmp.Diff(e, got); err != nil || diff != "" {
			t.Fatalf("event %d: %v %s", i, err, diff)
		}
	}
	if e, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("a part of an event: %v, %v", e, err)
	}
}

// FuzzReader: no stream makes it stand still or read twice what is there once.
func FuzzReader(f *testing.F) {
	f.Add("event: progress\nid: 12\ndata: {}\n\n")
	f.Add(":\n\nid: x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := NewReader(strings.NewReader(text))
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
