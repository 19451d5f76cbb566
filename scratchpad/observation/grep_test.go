package observation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"rouse/internal/sweep"

	"github.com/google/go-cmp/cmp"
)

func numbered(n int) []byte {
	var b []byte
	for i := 1; i <= n; i++ {
		b = fmt.Appendf(b, "line %d\n", i)
	}
	return b
}

func TestGrepShowsContext(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	c := get(t, turn, put(t, turn, numbered(40)).ID)
	tests := []struct {
		query Query
		want  string // numbers of lines, a match with *
		found Found
	}{
		{Query{Pattern: "line 7$", Context: 2}, "5 6 7* 8 9", Found{Matches: 1, Shown: 1}},
		{Query{Pattern: "line (1|2)$", Context: 1}, "1* 2* 3", Found{Matches: 2, Shown: 2}},
		{Query{Pattern: "line (3|7)$", Context: 2}, "1 2 3* 4 5 6 7* 8 9", Found{Matches: 2, Shown: 2}},
		{Query{Pattern: "line (3|5|39)$", Context: 2, MaxMatches: 1}, "1 2 3* 4", Found{Matches: 3, Shown: 1, Next: 5}},
		{Query{Pattern: "line (3|5|39)$", Context: 2, From: 5}, "3 4 5* 6 7 37 38 39* 40", Found{Matches: 3, Shown: 2}},
		{Query{Pattern: "line 40", Context: 9}, "31 32 33 34 35 36 37 38 39 40*", Found{Matches: 1, Shown: 1}},
		{Query{Pattern: "LINE 2[12]", IgnoreCase: true}, "21* 22*", Found{Matches: 2, Shown: 2}},
		{Query{Pattern: "line", MaxBytes: 20}, "1* 2* 3*", Found{Matches: 40, Shown: 3, Next: 4}},
		{Query{Pattern: "line", From: 41}, "", Found{Matches: 40}},
		{Query{Pattern: "nothing"}, "", Found{}},
	}
	for _, tt := range tests {
		f, err := c.Grep(context.Background(), tt.query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range f.Lines {
			if l.Text != fmt.Sprintf("line %d", l.Number) {
				t.Errorf("line %d is %q", l.Number, l.Text)
			}
			mark := ""
			if l.Match {
				mark = "*"
			}
			got = append(got, fmt.Sprint(l.Number, mark))
		}
		f.Lines = nil
		if diff := cmp.Diff(tt.want, strings.ReplaceAll(strings.Join(got, " "), " *", "*")); diff != "" {
			t.Errorf("%+v: %s", tt.query, diff)
		}
		if diff := cmp.Diff(tt.found, f); diff != "" {
			t.Errorf("%+v: %s", tt.query, diff)
		}
	}
}

func TestGrepRefusesPatterns(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	c := get(t, turn, put(t, turn, []byte("text")).ID)
	tests := []struct{ pattern, want string }{
		{"(", "missing closing )"},
		{`(?=x)`, "invalid or unsupported Perl syntax"},
		{strings.Repeat("a", 1001), "pattern has 1001 bytes, 1000 are allowed"},
		{"((a{100}){100}){100}", "invalid repeat count"},
	}
	for _, tt := range tests {
		_, err := c.Grep(context.Background(), Query{Pattern: tt.pattern})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q: %v", tt.pattern, err)
		}
	}
}

// TestGrepEndsWithItsContext stops a search that would have an answer.
func TestGrepEndsWithItsContext(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	c := get(t, turn, put(t, turn, numbered(1000)).ID)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 { // items that wait for a worker may be dealt or not
		if _, err := c.Grep(ctx, Query{Pattern: "x"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("a search whose context is over: %v", err)
		}
	}
}

// TestOneLongLine searches and reads a line of 100 MB, or 10, of which little is
// ever in memory.
func TestOneLongLine(t *testing.T) {
	size := 10 << 20
	if sweep.Full() {
		size = 100 << 20
	} else if raceEnabled {
		size = 3 << 20
	}
	turn := begin(t, openStore(t, "", Options{}), "turn")
	w := turn.Create(Origin{})
	piece := bytes.Repeat([]byte("0123456789abcdé "), 64<<10)
	for n := 0; n < size; n += len(piece) {
		w.Write(piece)
		if n/len(piece) == size/len(piece)/2 {
			w.Write([]byte("the needle"))
		}
	}
	w.Write([]byte("END\r\nanother needle\n"))
	before := heap()
	e, err := w.Commit(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := get(t, turn, e.ID)
	tests := []struct {
		pattern string
		lines   int64
		text    string
	}{
		{"needle", 2, "the needle"},
		{"the n[a-z]{2}dle", 1, "the needle"},
		{"END$", 1, "END"},
		{"nowhere to be found", 0, ""},
	}
	for _, tt := range tests {
		f, err := c.Grep(context.Background(), Query{Pattern: tt.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if f.Matches != tt.lines {
			t.Errorf("%s: %d lines match, want %d", tt.pattern, f.Matches, tt.lines)
		}
		if tt.lines == 0 {
			continue
		}
		l := f.Lines[0]
		if !l.Cut || !strings.Contains(l.Text, tt.text) || len([]rune(l.Text)) > 500 {
			t.Errorf("%s: cut %v, %d characters: %q", tt.pattern, l.Cut, len([]rune(l.Text)), l.Text)
		}
		p, err := c.Slice(Chars, l.Char, l.Char+int64(len([]rune(l.Text))), 1<<20)
		if err != nil || string(p.Data) != l.Text {
			t.Errorf("%s: at the character that is said stands %q", tt.pattern, p.Data)
		}
	}
	p, err := c.Slice(Lines, 1, 3, 1000)
	if err != nil || !p.Cut || p.End != 2 || len(p.Data) > 1000 || len(p.Data) < 997 {
		t.Errorf("the long line: cut %v, end %d, %d bytes, %v", p.Cut, p.End, len(p.Data), err)
	}
	t.Logf("a line of %d MB: heap grew by %d KiB", size>>20, (int64(heap())-int64(before))>>10)
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestGrepPageByPage reads all matches by what each answer says comes next.
func TestGrepPageByPage(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	data := append(numbered(30_000), bytes.Repeat([]byte("long "), 300_000)...)
	data = append(append(data, '\n'), numbered(20_000)...)
	c := get(t, turn, put(t, turn, data).ID)
	q := Query{Pattern: "7|long", MaxMatches: 2000, MaxBytes: 1 << 20, Partial: true}
	whole, err := c.Grep(context.Background(), Query{Pattern: q.Pattern, MaxMatches: 1 << 20, MaxBytes: 1 << 30})
	if err != nil || whole.Next != 0 {
		t.Fatal(whole.Next, err)
	}
	var all []Line
	for {
		f, err := c.Grep(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f.Lines...)
		if f.Next == 0 {
			break
		}
		q.From = f.Next
	}
	if diff := cmp.Diff(whole.Lines, all); diff != "" {
		t.Errorf("%d lines in all, %d page by page", len(whole.Lines), len(all))
	}
}

// A page of matches costs what leads to them, and not what was dealt out beyond:
// one item a worker at most, however many are waiting.
func TestPageOfMatchesEndsTheSearch(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{Codec: Raw}), "turn")
	c := get(t, turn, put(t, turn, bytes.Repeat([]byte("7\n"), 8<<20)).ID)
	const workers, line = 4, 2
	f, err := c.Grep(context.Background(), Query{Pattern: "[0-9]", MaxMatches: 10, Partial: true})
	if err != nil || f.Shown != 10 || f.Next != 11 {
		t.Errorf("%d shown, next %d: %v", f.Shown, f.Next, err)
	}
	if most := int64(workers * itemSize / line); f.Matches > most {
		t.Errorf("%d matches were looked at, want %d at most", f.Matches, most)
	}
}
