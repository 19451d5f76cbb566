package frame

import (
	"fmt"
	"strings"
	"testing"
)

// However a stream comes in pieces, its lines are the same; one that is too long
// is told of once and left out.
func TestLines(t *testing.T) {
	const stream = "a\n\nbb\r\n123456789\n12345678\ncut"
	for piece := 1; piece <= len(stream); piece++ {
		var got []string
		l := Lines{Max: 8, Line: func(b []byte) { got = append(got, fmt.Sprintf("%q", b)) }, Lost: func(err error) { got = append(got, err.Error()) }}
		for rest := stream; rest != ""; {
			n := min(piece, len(rest))
			if _, err := l.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if want := `"a" "" "bb\r" its answer is longer than 8 bytes "12345678"`; strings.Join(got, " ") != want {
			t.Errorf("by %d: %s", piece, got)
		}
	}
}

func TestPatience(t *testing.T) {
	for patience, want := range map[int64]bool{0: true, 3: false} {
		lines := 0
		l := Lines{Max: 10, Patience: patience, Line: func([]byte) { lines++ }}
		var err error
		for range 100 {
			if _, e := l.Write([]byte("xxxx")); e != nil {
				err = e
			}
		}
		l.Write([]byte("\nx\n"))
		if (err == nil) != want || cap(l.buf) > 100 || want && lines != 1 {
			t.Errorf("patience %d: %v, %d lines, %d bytes held", patience, err, lines, cap(l.buf))
		}
	}
}
