package text

import (
	"fmt"
	"strings"
	"testing"
)

// However a text comes in pieces, its ends are kept, and what is left out counted.
func TestEnds(t *testing.T) {
	all := strings.Repeat("0123456789", 5)
	for length := range len(all) + 1 {
		for piece := 1; piece <= len(all); piece++ {
			e := Ends{Head: 7, Tail: 4}
			for at := 0; at < length; at += piece {
				e.Write([]byte(all[at:min(at+piece, length)]))
			}
			head, tail, left := e.Kept()
			want := fmt.Sprint(all[:min(7, length)], all[max(min(7, length), length-4):length], max(0, length-11), length)
			if got := fmt.Sprint(string(head), string(tail), left, e.Total); got != want {
				t.Fatalf("%d bytes by %d: %s, want %s", length, piece, got, want)
			}
		}
	}
}

func TestEndsMemory(t *testing.T) {
	e := Ends{Head: 1000, Tail: 1000}
	for piece := range 5000 {
		e.Write(make([]byte, piece))
	}
	if held := cap(e.head) + cap(e.tail); held > 8000 {
		t.Errorf("%d bytes held", held)
	}
}

func TestIncomplete(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 0, "é": 0, "a\xc3": 1, "\xe2\x82": 2, "\xf0\x9f\x98": 3, "\xf0\x9f\x98\x80": 0, "\x80\x80\x80\x80": 0, "\xff": 0} {
		if got := Incomplete([]byte(s)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
