package observationtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/scratchpad/observation"
)

var units = [...]observation.Unit{observation.Bytes, observation.Chars, observation.Lines}

func slicesAreThoseOfAString(t *testing.T, effort Effort, s Store) {
	must(t, s.Begin("turn"))
	n := 0
	for _, sample := range Samples() {
		_, c := s.put(t, "turn", sample.Data)
		checkWhole(t, c, sample.Data)
		ref := NewReference(sample.Data)
		r := rand.New(rand.NewPCG(1, 2))
		for _, u := range units {
			for range 10 * effort {
				start, end := oddRange(r, ref.Slice(u, 0, 0).Total)
				CheckSlice(t, c, ref, observation.Part{Unit: u, Start: start, End: end})
				n++
			}
		}
		if t.Failed() {
			t.Fatal(sample.Name)
		}
	}
	t.Logf("%d slices of %d contents are those of the string", n, len(Samples()))
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

// CheckSlice wants one part, of which the unit, the start and the end are asked,
// to be that of the reference.
func CheckSlice(t testing.TB, c Content, ref Reference, ask observation.Part) {
	t.Helper()
	got, err := c.Slice(ask.Unit, ask.Start, ask.End, 1<<30)
	must(t, err)
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
func partsMakeTheWhole(t *testing.T, s Store) {
	must(t, s.Begin("turn"))
	for _, sample := range Samples() {
		_, c := s.put(t, "turn", sample.Data)
		for _, u := range units {
			got, cut := inParts(t, c, u, NewReference(sample.Data).Slice(u, 0, 0))
			if !cut && !bytes.Equal(got, sample.Data) || cut && u != observation.Lines {
				t.Errorf("%s: %d %s in parts came back as %d", sample.Name, len(sample.Data), u, len(got))
			}
		}
	}
}

func inParts(t *testing.T, c Content, u observation.Unit, first observation.Part) (got []byte, cut bool) {
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

// Patterns lead through every way to match that a store is likely to have.
func Patterns() []string {
	return []string{
		"word", "number 17", "error in the 42nd", "o", "", "^", "$", "^$", "^a", "a$", "b$", `\d$`, `t$|^e`, `\s+`, `[^x]+y`, `[\n]`, `\n`,
		`a\nb`, `(?i)ERROR.*WORD`, `\b\d{2}nd\b`, `[a-z]{14,}`, "é", "😀|一", `\A\S+\z`, `.`, `(?s).+`, `\x{fffd}`, "\ufffd",
		`(error|word) in`, `x*`, `\r`, `a\r`, `\W$`, `(?m)^b`, "ok ", `\pL{3}`, `0123456789$`, `y{3}$`, `^0+1`, `42[a-z]+ word`, `_\d`,
	}
}

// shown is how many matches the tests ask for.
const shown = 20

func grepFindsTheLinesOfAString(t *testing.T, effort Effort, s Store) {
	must(t, s.Begin("turn"))
	found := int64(0)
	for _, sample := range Samples() {
		_, c := s.put(t, "turn", sample.Data)
		ref := NewReference(sample.Data)
		for i, pattern := range Patterns() {
			if few := max(1, 12/int(effort)); effort < 4 && i%few != int(effort) {
				continue
			}
			want := ref.Grep(regexp.MustCompile(pattern))
			f, err := c.Grep(context.Background(), observation.Query{Pattern: pattern, MaxMatches: shown, LineChars: 40})
			must(t, err)
			checkFound(t, fmt.Sprintf("%s: %q", sample.Name, pattern), f, want)
			found += f.Matches
		}
	}
	t.Logf("%d patterns, %d contents, %d lines: as in the string", len(Patterns()), len(Samples()), found)
}

func checkFound(t *testing.T, name string, f observation.Found, want []int64) {
	t.Helper()
	got := []int64{}
	for _, l := range f.Lines {
		got = append(got, l.Number)
	}
	first := want[:min(len(want), shown)]
	if diff := cmp.Diff(append([]int64{}, first...), got); diff != "" || f.Shown != len(first) || f.Matches != int64(len(want)) {
		t.Errorf("%s: %d lines match and %d are shown, want %d: %s", name, f.Matches, f.Shown, len(want), diff)
	}
	next := int64(0)
	if len(want) > shown {
		next = want[shown]
	}
	if f.Next != next {
		t.Errorf("%s: next is %d, want %d", name, f.Next, next)
	}
}
