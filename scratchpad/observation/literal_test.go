package observation

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestLiteralIsFoundByAnyOfItsBytes compares with bytes.Index, where the byte
// that is looked for is rare, common, or nowhere.
func TestLiteralIsFoundByAnyOfItsBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		b := make([]byte, r.IntN(400))
		for i := range b {
			b[i] = "aaaaaaaaab\nc"[r.IntN(12)]
		}
		text := make([]byte, 1+r.IntN(5))
		for i := range text {
			text[i] = "abc\nd"[r.IntN(5)]
		}
		o := r.IntN(len(b) + 1)
		want := indexFrom(b, text, o)
		for rare := range text {
			l := literal{text: text, rare: rare}
			l.far = r.IntN(2) * (len(text) - 1)
			if got := l.index(b, o); got != want {
				t.Fatalf("%q in %q from %d, by its bytes %d and %d: at %d, want %d", text, b, o, rare, l.far, got, want)
			}
		}
	}
}

func TestRarestByteIsLearnt(t *testing.T) {
	list := []literal{{text: []byte("abc")}, {text: []byte("aab")}, {text: []byte("zzz")}, {text: []byte("c")}}
	learn(list, bytes.Repeat([]byte("aaabbc"), 10))
	for i, want := range [][2]int{{2, 0}, {2, 0}, {0, 2}, {0, 0}} {
		if got := [2]int{list[i].rare, list[i].far}; got != want {
			t.Errorf("%s: %d, want %d", list[i].text, got, want)
		}
	}
}
