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
	s := openStore(f, "", Options{})
	turn := begin(f, s, "turn")
	f.Fuzz(func(t *testing.T, data []byte, start, end int64, limit int, scale uint8) {
		data = bytes.Repeat(data, 1+int(scale)*40)
		data = data[:min(len(data), 200_000)]
		c := get(t, turn, put(t, turn, data).ID)
		ref := newReference(data)
		for _, u := range []Unit{Bytes, Chars, Lines} {
			checkSlice(t, c, ref, u, start, end)
			p, err := c.Slice(u, start, end, limit)
			if err != nil || len(p.Data) > max(limit, utf8.UTFMax) || p.End < p.Start {
				t.Fatalf("%s from %d to %d, limit %d: %d bytes, from %d to %d, %v", u, start, end, limit, len(p.Data), p.Start, p.End, err)
			}
			if whole := ref.slice(u, p.Start, p.End).Data; !p.Cut && !bytes.Equal(whole, p.Data) || p.Cut && !bytes.HasPrefix(whole, p.Data) {
				t.Fatalf("%s from %d to %d: %q, want %q", u, p.Start, p.End, p.Data, whole)
			}
		}
		if err := s.Remove(c.ID); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzGrep searches any content for any pattern and wants the lines that package
// regexp finds in each line by itself.
func FuzzGrep(f *testing.F) {
	for i, pattern := range patterns {
		f.Add([]byte("a line\r\nword é\xff\n\nerror in the 42nd word"), pattern, i%2 == 0, int64(i-3), i%4)
	}
	s := openStore(f, "", Options{})
	turn := begin(f, s, "turn")
	f.Fuzz(func(t *testing.T, data []byte, pattern string, fold bool, from int64, around int) {
		e := put(t, turn, data)
		c := get(t, turn, e.ID)
		got, err := c.Grep(context.Background(), Query{Pattern: pattern, IgnoreCase: fold, From: from, Context: around, MaxMatches: 3, LineChars: 20})
		if err == nil {
			if fold {
				pattern = "(?i)" + pattern
			}
			if _, err := regexp.Compile(pattern); err != nil {
				t.Fatalf("%q is searched for, %v", pattern, err)
			}
			if want := newReference(data).grep(t, pattern); got.Matches != int64(len(want)) {
				t.Fatalf("%q in %q: %d lines match, want %v", pattern, data, got.Matches, want)
			}
			checkOrder(t, got)
		}
		if err := s.Remove(e.ID); err != nil {
			t.Fatal(err)
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

// FuzzSummary sums up anything.
func FuzzSummary(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, {"b": null}], "c": "\""} true`, "<html><title>x</title><script>", "a,b\n1,\"2\n", "[INFO] up\nE1121 04:15:26 x", "\x89PNG\r\n\x1a\n\x00", "\ufeff[1]",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		d := newDigest(Options{PreviewChars: 10}.withDefaults())
		feed(data, max(1, n%50), d.add)
		d.count(measure(data))
		e := d.entry()
		if n := utf8.RuneCountInString(e.Summary + "\n" + e.Facts); n > 2000 || !utf8.ValidString(e.Summary+e.Facts) {
			t.Fatalf("%d characters, %q", n, e.Summary+e.Facts)
		}
	})
}
