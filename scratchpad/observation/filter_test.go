package observation

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rouse/internal/sweep"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// noise is n bytes of lines that compress little and have few different grams.
func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef \n"[r.IntN(18)]
	}
	return b
}

// TestFilterHoldsAllThatIsThere wants no text of a chunk to be denied, whatever
// the size of its filter, and most others to be.
func TestFilterHoldsAllThatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := map[int]int{}
	for range 300 {
		p := bytes.Repeat(noise(r, 1+r.IntN(400)), 1+r.IntN(5))
		out := appendFilter([]byte("before"), p, r.IntN(20_000))[6:]
		f := filterOf(append(out, "a frame"...))
		sizes[len(f)]++
		if (f == nil) != (len(out) == 0) {
			t.Fatalf("the filter of %d bytes is not found", len(out))
		}
		for range 100 {
			i := r.IntN(len(p))
			if text := string(p[i : i+r.IntN(min(30, len(p)-i)+1)]); !f.mayHold(text) {
				t.Fatalf("%q of %q is denied by a filter of %d bytes", text, p, len(f))
			}
		}
		if len(f) == filterBits/8 && f.mayHold("NOT THERE") {
			t.Errorf("a text that is not there is taken to be in %d bytes", len(p))
		}
	}
	for _, n := range []int{0, 64, 128, 256, 512, 1024} {
		if sizes[n] == 0 {
			t.Errorf("no filter has %d bytes: %v", n, sizes)
		}
	}
}

// TestSpoiltFilterMayHoldAll spoils each byte: it takes the filter away, and never
// hides anything.
func TestSpoiltFilterMayHoldAll(t *testing.T) {
	good := appendFilter(nil, []byte("some text"), 2000)
	for i := range good {
		for _, bit := range []byte{1, 0x80} {
			b := bytes.Clone(good)
			b[i] ^= bit
			if f := filterOf(b); f != nil || !f.mayHold("anything") {
				t.Errorf("bit %d of byte %d is lost and not noticed", bit, i)
			}
		}
	}
	for n := range good {
		if filterOf(good[:n]) != nil {
			t.Errorf("a filter cut to %d bytes is used", n)
		}
	}
}

func TestRequired(t *testing.T) {
	tests := []struct {
		pattern string
		want    [][]string
	}{
		{"text", [][]string{{"text"}}},
		{"te", nil},
		{"(?i)text", nil},
		{`func \(\w+\) [A-Z]\w*Error\(`, [][]string{{"func ("}, {"Error("}}},
		{`(one|three|four) \d+ (?:five)+`, [][]string{{"one", "three", "four"}, {"five"}}},
		{"one|tw", nil},
		{"one?x", nil},
		{"(?:text)*", nil},
		{`^text\b(.*more)$`, [][]string{{"text"}, {"more"}}},
		{"text\ufffd", nil},
	}
	for _, tt := range tests {
		p, err := compile(tt.pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, p.required); diff != "" {
			t.Errorf("%s: %s", tt.pattern, diff)
		}
	}
}

// bordered is noise with lines longer than a chunk in it, and a needle across and
// about the borders of chunks.
func bordered(r *rand.Rand, needle string) []byte {
	data := noise(r, 6*chunkSize+r.IntN(chunkSize))
	for range r.IntN(4) {
		from := r.IntN(len(data))
		long := data[from:min(len(data), from+r.IntN(3*chunkSize))]
		copy(long, bytes.ReplaceAll(long, []byte("\n"), []byte("_")))
	}
	place := func(at int) {
		if at >= 0 && at < len(data) {
			copy(data[at:], needle)
		}
	}
	for range r.IntN(4) {
		place(r.IntN(len(data)))
	}
	for end := 0; len(data)-end > chunkSize && r.IntN(5) > 0; { // to place one moves no border before it
		end += cut(data[end:], false)
		switch r.IntN(3) {
		case 0:
			place(end - 1 - r.IntN(len(needle)+1))
		case 1:
			place(end - r.IntN(3)*len(needle)/2)
		}
	}
	return data
}

// TestFilteredSearchFindsAll compares with the lines of a string: numbers, totals
// and the lines about matches, page by page too.
func TestFilteredSearchFindsAll(t *testing.T) {
	rounds := sweep.Of(7, 20, 2000)
	if raceEnabled {
		rounds = 3
	}
	r := rand.New(rand.NewPCG(3, 4))
	turn := begin(t, openStore(t, "", Options{}), "turn")
	matches, skipped := 0, 0
	for range rounds {
		data := bordered(r, "Needle-17")
		e := put(t, turn, data)
		c := get(t, turn, e.ID)
		checkWhole(t, c, data)
		for _, pattern := range []string{"Needle-17", "Needle-1[7-9]", "(?:X|N)eedle-17", "Nee|Hay", `Needle.*\d`, "absent"} {
			want := matching(data, pattern)
			matches += len(want)
			checkSearch(t, c, Query{Pattern: pattern, Context: r.IntN(3), MaxMatches: 1 + r.IntN(4), Partial: r.IntN(2) == 0, LineChars: 60}, want)
		}
		skipped += leftOut(t, c, "Needle-17")
		if t.Failed() {
			t.Fatalf("content of %d bytes", len(data))
		}
		if err := turn.s.Remove(e.ID); err != nil {
			t.Fatal(err)
		}
	}
	if matches == 0 || skipped == 0 {
		t.Errorf("%d lines matched, %d chunks were left out", matches, skipped)
	}
	t.Logf("%d lines matched, %d chunks were left out", matches, skipped)
}

// matching gives the numbers of the lines that match.
func matching(data []byte, pattern string) (want []int64) {
	re := regexp.MustCompile(pattern)
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if re.MatchString(line) {
			want = append(want, int64(i+1))
		}
	}
	return want
}

// checkSearch asks page by page.
func checkSearch(t *testing.T, c *Content, q Query, want []int64) {
	t.Helper()
	var got []int64
	for {
		f, err := c.Grep(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !q.Partial && f.Matches != int64(len(want)) {
			t.Errorf("%s: %d lines match, want %d", q.Pattern, f.Matches, len(want))
		}
		for _, l := range f.Lines {
			if p, err := c.Slice(Lines, l.Number, l.Number+1, 1<<20); err != nil || !strings.Contains(string(p.Data), strings.Trim(l.Text, "\ufffd")) {
				t.Errorf("%s: line %d is not %q, %v", q.Pattern, l.Number, l.Text, err)
			}
			if l.Match {
				got = append(got, l.Number)
			}
		}
		if q.From = f.Next; f.Next == 0 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%+v: %s", q, diff)
	}
}

// leftOut counts the chunks that a search for a pattern does not decode.
func leftOut(t *testing.T, c *Content, pattern string) (n int) {
	t.Helper()
	p, err := compile(pattern, false)
	if err != nil {
		t.Fatal(err)
	}
	whole := true
	for k := 0; ; k++ {
		ch, ok, err := c.chunk(k)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return n
		}
		var stored []byte
		if err := c.fetch(ch, &stored); err != nil {
			t.Fatal(err)
		}
		if whole && p.candidates([]chunk{ch}, stored) == 0 {
			n++
		}
		whole = ch.lines > 0
	}
}

// TestFileWithFiltersIsPlain decodes the file as any program would.
func TestFileWithFiltersIsPlain(t *testing.T) {
	dir := t.TempDir()
	data := noise(rand.New(rand.NewPCG(7, 8)), 5*chunkSize)
	put(t, begin(t, openStore(t, dir, Options{}), "turn"), data)
	f, err := os.Open(filepath.Join(dir, contents, files(t, dir)[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	if got, err := io.ReadAll(dec); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes are decoded as %d, %v", len(data), len(got), err)
	}
}

// TestContentWithoutFilters is one of a program that made none: it reads and
// searches as ever.
func TestContentWithoutFilters(t *testing.T) {
	dir := t.TempDir()
	turn := begin(t, openStore(t, dir, Options{}), "turn")
	data := append(noise(rand.New(rand.NewPCG(5, 6)), 10*chunkSize), "\nNeedle\n"...)
	c := get(t, turn, put(t, turn, data).ID)
	if leftOut(t, c, "Needle") == 0 {
		t.Error("no chunk is left out")
	}
	removeFilters(t, c, filepath.Join(dir, contents, files(t, dir)[0]))
	c = get(t, turn, c.ID)
	if n := leftOut(t, c, "Needle"); n != 0 {
		t.Errorf("%d chunks are left out", n)
	}
	checkWhole(t, c, data)
	checkSearch(t, c, Query{Pattern: "Needle"}, matching(data, "Needle"))
}

// removeFilters rewrites the file and the index of a content with one page of it.
func removeFilters(t *testing.T, c *Content, file string) {
	t.Helper()
	var out, stored []byte
	var x index
	for k := 0; ; k++ {
		ch, ok, err := c.chunk(k)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if err := c.fetch(ch, &stored); err != nil {
			t.Fatal(err)
		}
		if f := filterOf(stored); f != nil {
			stored = stored[filterHead+len(f)+filterSum:]
		}
		out = append(out, stored...)
		ch.size.stored = len(stored)
		x.add(ch.size)
	}
	if _, err := c.s.db.Exec(`UPDATE chunks SET sizes = ? WHERE entry = ?`, x.pages[0].sizes, c.n); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzFilteredSearch places a text anywhere in contents of some chunks, with a
// long line somewhere.
func FuzzFilteredSearch(f *testing.F) {
	f.Add(uint64(1), "Needle", uint32(65530), uint32(10), uint32(100_000))
	f.Add(uint64(2), "é+?\r", uint32(131_070), uint32(70_000), uint32(60_000))
	turn := begin(f, openStore(f, "", Options{}), "turn")
	f.Fuzz(func(t *testing.T, seed uint64, text string, at, long, length uint32) {
		data := noise(rand.New(rand.NewPCG(seed, 1)), 4*chunkSize)
		line := data[int(long)%len(data):]
		line = line[:min(len(line), int(length)%(3*chunkSize))]
		copy(line, bytes.ReplaceAll(line, []byte("\n"), []byte("_")))
		copy(data[int(at)%len(data):], text)
		e := put(t, turn, data)
		defer turn.s.Remove(e.ID)
		pattern := regexp.QuoteMeta(text[:min(len(text), 200)])
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip(err)
		}
		want := int64(0)
		for line := range bytes.Lines(data) {
			if re.Match(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) {
				want++
			}
		}
		found, err := get(t, turn, e.ID).Grep(context.Background(), Query{Pattern: pattern})
		if err != nil || found.Matches != want {
			t.Fatalf("%q: %d lines match, want %d, %v", text, found.Matches, want, err)
		}
	})
}
