package observation

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"unicode/utf8"
)

// FuzzSlice reads any part of any content, in any measure.
func FuzzSlice(f *testing.F) {
	f.Add([]byte("a line\r\n😀é\xff\n\nlast"), int64(0), int64(10), 4, uint8(0))
	f.Add([]byte(""), int64(-5), int64(1<<62), 0, uint8(2))
	f.Add([]byte("\n\n"), int64(1), int64(2), -1, uint8(2))
	turn := begin(f, openStore(f, "", Options{}), "turn")
	f.Fuzz(func(t *testing.T, data []byte, start, end int64, limit int, scale uint8) {
		data = bytes.Repeat(data, 1+int(scale)*40)
		data = data[:min(len(data), 200_000)]
		c := kept(t, turn, data)
		ref := newReference(data)
		for _, u := range []Unit{Bytes, Chars, Lines} {
			checkSlice(t, c, ref, Part{Unit: u, Start: start, End: end})
			p, err := c.Slice(u, start, end, limit)
			if err != nil || len(p.Data) > max(limit, utf8.UTFMax) || p.End < p.Start {
				t.Fatalf("%s from %d to %d, limit %d: %d bytes, from %d to %d, %v", u, start, end, limit, len(p.Data), p.Start, p.End, err)
			}
			if whole := ref.Slice(u, p.Start, p.End).Data; !p.Cut && !bytes.Equal(whole, p.Data) || p.Cut && !bytes.HasPrefix(whole, p.Data) {
				t.Fatalf("%s from %d to %d: %q, want %q", u, p.Start, p.End, p.Data, whole)
			}
		}
	})
}

// FuzzGrep searches any content for any pattern and wants the lines that package
// regexp finds in each line by itself.
func FuzzGrep(f *testing.F) {
	for i, pattern := range patterns() {
		f.Add([]byte("a line\r\nword é\xff\n\nerror in the 42nd word"), pattern, i%2 == 0, int64(i-3), i%4)
	}
	turn := begin(f, openStore(f, "", Options{}), "turn")
	f.Fuzz(func(t *testing.T, data []byte, pattern string, fold bool, from int64, around int) {
		c := kept(t, turn, data)
		got, err := c.Grep(context.Background(), Query{Pattern: pattern, IgnoreCase: fold, From: from, Context: around, MaxMatches: 3, LineChars: 20})
		if err == nil {
			if fold {
				pattern = "(?i)" + pattern
			}
			re, err := regexp.Compile(pattern)
			if err != nil {
				t.Fatalf("%q is searched for, %v", pattern, err)
			}
			if want := newReference(data).Grep(re); got.Matches != int64(len(want)) {
				t.Fatalf("%q in %q: %d lines match, want %v", pattern, data, got.Matches, want)
			}
			checkOrder(t, got)
		}
	})
}

// checkOrder wants each line once, in order, and none too long.
func checkOrder(t *testing.T, f Found) {
	t.Helper()
	last := int64(0)
	matches := 0
	for _, l := range f.Lines {
		if l.Number <= last || utf8.RuneCountInString(l.Text) > 20 || !utf8.ValidString(l.Text) {
			t.Fatalf("line %d after %d: %q", l.Number, last, l.Text)
		}
		last = l.Number
		if l.Match {
			matches++
		}
	}
	if matches != f.Shown || f.Next != 0 && f.Next <= last {
		t.Fatalf("%d matches are shown, %d said; next is %d after %d", matches, f.Shown, f.Next, last)
	}
}
