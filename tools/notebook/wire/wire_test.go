package wire

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/sse"
)

func TestEvents(t *testing.T) {
	var stream []byte
	type event struct {
		Name string
		Next int64
		Data string
	}
	var want []event
	for _, data := range []string{"", "a\nb", strings.Repeat("x", 200_000), "é\x00"} {
		b, err := Encode(int64(len(stream)), EventDone, Done{Error: data})
		if err != nil {
			t.Fatal(err)
		}
		stream = append(stream, b...)
		lines := strings.Split(string(b), "\n")
		want = append(want, event{EventDone, int64(len(stream)), strings.TrimPrefix(lines[2], "data: ")})
	}
	text := ": ping\n\n" + strings.ReplaceAll(string(stream), "\n\n", "\n\n: ping\n\n")
	r := sse.NewReader(strings.NewReader(text+"event: cut\ndata: x\n"), MaxEvent)
	for i, e := range want {
		var got sse.Event
		var err error
		for err == nil && got.Name == "" { // pings have none
			got, err = r.Next()
		}
		next, _ := Next(got)
		if diff := cmp.Diff(e, event{got.Name, next, string(got.Data)}); err != nil || diff != "" {
			t.Fatalf("event %d: %v %s", i, err, diff)
		}
	}
	for err := error(nil); !errors.Is(err, io.EOF); {
		var e sse.Event
		if e, err = r.Next(); e.Name != "" || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("a part of an event: %v, %v", e, err)
		}
	}
}
