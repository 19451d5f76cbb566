package observation

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestPacked: what people's tools print takes far less room than it has, numbers
// too, of which few texts come again.
func TestPacked(t *testing.T) {
	var numbers, lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&numbers, i)
		fmt.Fprintf(&lines, "2026-11-21T04:%02d:%02d INFO worker-%d: request %08x took %dms\n", i/60%60, i%60, i%7, i*2654435761%(1<<32), i*7919%5000)
	}
	k, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	for name, text := range map[string]string{"numbers": numbers.String(), "a log": lines.String()} {
		data := []byte(text)
		whole, stored := 0, 0
		for len(data) > 0 {
			n := cut(data, true)
			frame := k.frame(data[:n], nil)
			if got, err := dec.DecodeAll(frame, nil); err != nil || !bytes.Equal(got, data[:n]) {
				t.Fatalf("%s: %v", name, err)
			}
			whole, stored, data = whole+n, stored+len(frame), data[n:]
		}
		if stored > whole/2 {
			t.Errorf("%s: %d bytes for %d", name, stored, whole)
		}
		t.Logf("%s: %d bytes for %d", name, stored, whole)
	}
}
