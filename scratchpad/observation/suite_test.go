package observation

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/sweep"
)

// TestStore compares each way to read a content with a plain string in memory, and
// checks who may read what, and for how long. Its effort says how much to try: from
// 4 on all patterns, below one in twelve for each point, mostly others; and ten times
// as many slices of each content.
func TestStore(t *testing.T) {
	both := map[Codec]int{Zstd: 2, Raw: 1}
	for codec, effort := range sweep.Of(map[Codec]int{Zstd: 2}, both, both) {
		t.Run(string(codec), func(t *testing.T) {
			effort = sweep.Of(1, effort+1, effort+4)
			if raceEnabled && !sweep.Full() {
				effort = 1 // the detector makes RE2 slow
			}
			open := func(t *testing.T) (*Store, *clock) {
				now := newClock()
				return openStore(t, "", Options{Codec: codec, Now: now.now}), now
			}
			turn := func(t *testing.T) *Turn {
				s, _ := open(t)
				return begin(t, s, "turn")
			}
			t.Run("slices", func(t *testing.T) { slicesAreThoseOfAString(t, effort, turn(t)) })
			t.Run("parts", func(t *testing.T) { partsMakeTheWhole(t, turn(t)) })
			t.Run("grep", func(t *testing.T) { grepFindsTheLinesOfAString(t, effort, turn(t)) })
			for name, check := range map[string]func(*testing.T, *Store, *clock){
				"own": onlyOwnEntriesAreRead, "life": entriesLiveAsLongAsTheirTurn, "kept": keptEntriesAreSeenLater,
			} {
				t.Run(name, func(t *testing.T) {
					s, now := open(t)
					check(t, s, now)
				})
			}
		})
	}
}

// kept stores data and opens it.
func kept(t testing.TB, turn *Turn, data []byte) *Content {
	t.Helper()
	return get(t, turn, put(t, turn, data).ID)
}

var units = [...]Unit{Bytes, Chars, Lines}

func slicesAreThoseOfAString(t *testing.T, effort int, turn *Turn) {
	n := 0
	for _, sample := range samples() {
		c := kept(t, turn, sample.data)
		checkWhole(t, c, sample.data)
		ref := newReference(sample.data)
		r := rand.New(rand.NewPCG(1, 2))
		for _, u := range units {
			for range 10 * effort {
				start, end := oddRange(r, ref.Slice(u, 0, 0).Total)
				checkSlice(t, c, ref, Part{Unit: u, Start: start, End: end})
				n++
			}
		}
		if t.Failed() {
			t.Fatal(sample.name)
		}
	}
	t.Logf("%d slices of %d contents are those of the string", n, len(samples()))
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

// checkSlice wants one part, of which the unit, the start and the end are asked,
// to be that of the reference.
func checkSlice(t testing.TB, c *Content, ref reference, ask Part) {
	t.Helper()
	got, err := c.Slice(ask.Unit, ask.Start, ask.End, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	want := ref.Slice(ask.Unit, ask.Start, ask.End)
	if bytes.Equal(got.Data, want.Data) {
		got.Data, want.Data = nil, nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s from %d to %d: %.2000s", ask.Unit, ask.Start, ask.End, diff)
	}
}

// partsMakeTheWhole reads each content in parts of limited size, from each End to
// the next.
func partsMakeTheWhole(t *testing.T, turn *Turn) {
	for _, sample := range samples() {
		c := kept(t, turn, sample.data)
		for _, u := range units {
			got, cut := inParts(t, c, u, newReference(sample.data).Slice(u, 0, 0))
			if !cut && !bytes.Equal(got, sample.data) || cut && u != Lines {
				t.Errorf("%s: %d %s in parts came back as %d", sample.name, len(sample.data), u, len(got))
			}
		}
	}
}

func inParts(t *testing.T, c *Content, u Unit, first Part) (got []byte, cut bool) {
	t.Helper()
	const limit = 70_001
	next, last := first.Start, first.Start+first.Total
	for next < last {
		p, err := c.Slice(u, next, last, limit)
		if err != nil || p.Start != next || p.End <= next || len(p.Data) > limit {
			t.Fatalf("%s from %d: from %d to %d, %d bytes, %v", u, next, p.Start, p.End, len(p.Data), err)
		}
		got = append(got, p.Data...)
		next, cut = p.End, cut || p.Cut
	}
	return got, cut
}

// patterns lead through every way to match that a store is likely to have.
func patterns() []string {
	return []string{
		"word", "number 17", "error in the 42nd", "o", "", "^", "$", "^$", "^a", "a$", "b$", `\d$`, `t$|^e`, `\s+`, `[^x]+y`, `[\n]`, `\n`,
		`a\nb`, `(?i)ERROR.*WORD`, `\b\d{2}nd\b`, `[a-z]{14,}`, "é", "😀|一", `\A\S+\z`, `.`, `(?s).+`, `\x{fffd}`, "\ufffd",
		`(error|word) in`, `x*`, `\r`, `a\r`, `\W$`, `(?m)^b`, "ok ", `\pL{3}`, `0123456789$`, `y{3}$`, `^0+1`, `42[a-z]+ word`, `_\d`,
	}
}

// asked is how many matches the tests ask for.
const asked = 20

func grepFindsTheLinesOfAString(t *testing.T, effort int, turn *Turn) {
	found := int64(0)
	for _, sample := range samples() {
		c := kept(t, turn, sample.data)
		ref := newReference(sample.data)
		for i, pattern := range patterns() {
			if few := max(1, 12/effort); effort < 4 && i%few != effort {
				continue
			}
			want := ref.Grep(regexp.MustCompile(pattern))
			f, err := c.Grep(context.Background(), Query{Pattern: pattern, MaxMatches: asked, LineChars: 40})
			if err != nil {
				t.Fatal(err)
			}
			checkFound(t, fmt.Sprintf("%s: %q", sample.name, pattern), f, want)
			found += f.Matches
		}
	}
	t.Logf("%d patterns, %d contents, %d lines: as in the string", len(patterns()), len(samples()), found)
}

func checkFound(t *testing.T, name string, f Found, want []int64) {
	t.Helper()
	got := []int64{}
	for _, l := range f.Lines {
		got = append(got, l.Number)
	}
	first := want[:min(len(want), asked)]
	if diff := cmp.Diff(append([]int64{}, first...), got); diff != "" || f.Shown != len(first) || f.Matches != int64(len(want)) {
		t.Errorf("%s: %d lines match and %d are shown, want %d: %s", name, f.Matches, f.Shown, len(want), diff)
	}
	next := int64(0)
	if len(want) > asked {
		next = want[asked]
	}
	if f.Next != next {
		t.Errorf("%s: next is %d, want %d", name, f.Next, next)
	}
}
