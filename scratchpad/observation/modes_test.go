package observation

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reference answers from a plain string in memory what a Content answers.
type reference struct {
	data  []byte
	chars []int // where each character begins, and the end
	lines []int // the same for lines
}

func newReference(data []byte) reference {
	r := reference{data: data}
	for i := range string(data) {
		r.chars = append(r.chars, i)
	}
	for i := 0; i < len(data); {
		r.lines = append(r.lines, i)
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			i += n + 1
		} else {
			i = len(data)
		}
	}
	r.chars, r.lines = append(r.chars, len(data)), append(r.lines, len(data))
	return r
}

// slice is what Slice gives where nothing is too large.
func (r reference) slice(u Unit, start, end int64) Part {
	base, at := int64(0), r.chars
	switch u {
	case Lines:
		base, at = 1, r.lines
	case Bytes:
		at = nil
	}
	total := int64(len(r.data))
	if at != nil {
		total = int64(len(at) - 1)
	}
	start = min(max(start, base), total+base)
	end = min(max(end, start), total+base)
	from, to := int(start-base), int(end-base)
	if at != nil {
		from, to = at[from], at[to]
	}
	char, _ := slices.BinarySearch(r.chars, from)
	if from == to {
		char = len(r.chars) - 1
	}
	return Part{Unit: u, Start: start, End: end, Total: total, Data: append([]byte{}, r.data[from:to]...), Char: int64(char)}
}

func TestSlicesAreThoseOfAString(t *testing.T) {
	for _, codec := range []Codec{Zstd, Raw} {
		s := openStore(t, "", Options{Codec: codec})
		turn := begin(t, s, "turn")
		slices := 0
		for _, sample := range samples() {
			c := get(t, turn, put(t, turn, sample.data).ID)
			checkWhole(t, c, sample.data)
			ref := newReference(sample.data)
			r := rand.New(rand.NewPCG(1, 2))
			for _, u := range []Unit{Bytes, Chars, Lines} {
				if c.Total(u) != ref.slice(u, 0, 0).Total {
					t.Fatalf("%s: %d %s, want %d", sample.name, c.Total(u), u, ref.slice(u, 0, 0).Total)
				}
				for range slicesOfEach() {
					start, end := oddRange(r, c.Total(u))
					checkSlice(t, c, ref, u, start, end)
					slices++
				}
			}
			if t.Failed() {
				t.Fatal(sample.name)
			}
		}
		t.Logf("%s: %d slices of %d contents are those of the string", codec, slices, len(samples()))
	}
}

func slicesOfEach() int {
	if raceEnabled {
		return 10
	}
	return 60
}

// oddRange is a range in, about and outside of a content, often at a border of
// chunks.
func oddRange(r *rand.Rand, total int64) (start, end int64) {
	start = r.Int64N(total+20) - 10
	if r.IntN(4) == 0 {
		start = start/chunkSize*chunkSize + r.Int64N(5) - 2
	}
	end = start + r.Int64N(3000) - 5
	if r.IntN(10) == 0 {
		end = start + r.Int64N(total+10)
	}
	return start, end
}

func checkSlice(t *testing.T, c *Content, ref reference, u Unit, start, end int64) {
	t.Helper()
	got, err := c.Slice(u, start, end, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	want := ref.slice(u, start, end)
	if bytes.Equal(got.Data, want.Data) {
		got.Data, want.Data = nil, nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s from %d to %d: %.2000s", u, start, end, diff)
	}
}

// TestLimitedSlicesMakeTheWhole reads each content in parts of a few bytes, from
// each End to the next.
func TestLimitedSlicesMakeTheWhole(t *testing.T) {
	s := openStore(t, "", Options{})
	turn := begin(t, s, "turn")
	for _, sample := range samples() {
		c := get(t, turn, put(t, turn, sample.data).ID)
		for _, u := range []Unit{Bytes, Chars, Lines} {
			var got []byte
			cut := false
			next, last := int64(0), c.Total(u)
			if u == Lines {
				next, last = 1, last+1
			}
			for next < last {
				p, err := c.Slice(u, next, last, 70_001)
				if err != nil || p.Start != next || p.End <= next || len(p.Data) > 70_001 {
					t.Fatalf("%s: %s from %d: from %d to %d, %d bytes, %v", sample.name, u, next, p.Start, p.End, len(p.Data), err)
				}
				got = append(got, p.Data...)
				next, cut = p.End, cut || p.Cut
			}
			if !cut && !bytes.Equal(got, sample.data) || cut && u != Lines {
				t.Errorf("%s: %d %s in parts came back as %d", sample.name, len(sample.data), u, len(got))
			}
		}
	}
}

// grep is what Grep finds where no line is long.
func (r reference) grep(t testing.TB, pattern string) (lines []int64) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.lines[1:] {
		line := r.data[r.lines[i]:r.lines[i+1]]
		if re.Match(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) {
			lines = append(lines, int64(i+1))
		}
	}
	return lines
}

// patterns lead through each of the ways to match.
var patterns = []string{
	"word", "number 17", "error in the 42nd", "o", "", "^", "$", "^$", "^a", "a$", "b$", `\d$`, `t$|^e`, `\s+`, `[^x]+y`, `[\n]`, `\n`, `a\nb`,
	`(?i)ERROR.*WORD`, `\b\d{2}nd\b`, `[a-z]{14,}`, "é", "😀|一", `\A\S+\z`, `.`, `(?s).+`, `\x{fffd}`, "\ufffd", `(error|word) in`, `x*`, `\r`, `a\r`, `\W$`, `(?m)^b`, "ok ",
	`\pL{3}`, `0123456789$`, `y{3}$`, `^0+1`,
}

func TestGrepFindsTheLinesOfAString(t *testing.T) {
	found := int64(0)
	stores := map[Codec]*Turn{}
	for _, codec := range []Codec{Zstd, Raw} {
		stores[codec] = begin(t, openStore(t, "", Options{Codec: codec}), "turn")
	}
	for _, sample := range samples() {
		ref := newReference(sample.data)
		contents := map[Codec]*Content{}
		for codec, turn := range stores {
			contents[codec] = get(t, turn, put(t, turn, sample.data).ID)
		}
		for i, pattern := range patterns {
			if raceEnabled && i%5 != 0 {
				continue // RE2 is slow under the race detector
			}
			want := ref.grep(t, pattern)
			for codec, c := range contents {
				if codec == Raw && i%4 != 0 {
					continue // what differs is how chunks are read
				}
				f, err := c.Grep(context.Background(), Query{Pattern: pattern, MaxMatches: 20, LineChars: 40})
				if err != nil {
					t.Fatal(err)
				}
				if f.Matches != int64(len(want)) {
					t.Errorf("%s, %s: %q: %d lines match, want %d", sample.name, codec, pattern, f.Matches, len(want))
				}
				found += f.Matches
				checkShown(t, fmt.Sprintf("%s, %s: %q", sample.name, codec, pattern), f, want)
			}
		}
	}
	t.Logf("%d patterns, %d contents, 2 codecs, %d lines: as in the string", len(patterns), len(samples()), found)
}

func checkShown(t *testing.T, name string, f Found, want []int64) {
	t.Helper()
	var got []int64
	for _, l := range f.Lines {
		got = append(got, l.Number)
	}
	shown := want[:min(len(want), 20)]
	if diff := cmp.Diff(append([]int64{}, shown...), append([]int64{}, got...)); diff != "" || f.Shown != len(shown) {
		t.Errorf("%s: lines shown: %s", name, diff)
	}
	next := int64(0)
	if len(want) > 20 {
		next = want[20]
	}
	if f.Next != next {
		t.Errorf("%s: next is %d, want %d", name, f.Next, next)
	}
}
