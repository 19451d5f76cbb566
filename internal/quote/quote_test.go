package quote

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		text, quote string
		want        bool
	}{
		{"312 files", "12 files", false}, {"312 files", "312 files", true},
		{"12.5 MB", "12", false}, {"12.5 MB", "12.", false}, {"12.5 MB", "5 MB", false}, {"it is 12.", "12", true},
		{"1,000 rows", "1,000", true}, {"1,000 rows", "1000", false}, {"1000 rows", "1,000", false}, {"1,000 rows", "000 rows", false},
		{"12,500", "12", false}, {"1'000", "1", false}, {"1_000", "1", false}, {"10^5", "10", false},
		{"-5 °C", "5 °C", false}, {"-5 °C", "-5 °C", true}, {"a - 5", "5", true}, {"−5", "5", false}, {"±5", "5", false}, {"+5", "5", false},
		{"-$5", "$5", false}, {"$12", "12", false}, {"12€", "12", false}, {"12%", "12", false}, {"12 %", "12 %", true},
		{"12GB", "12", false}, {"12 GB", "12 G", false}, {"12 GB", "12 GB", true}, {"5 MB", "5 M", false},
		{"5/10 passed", "10 passed", false}, {"5-10 days", "10 days", false}, {"5–10 days", "10 days", false},
		{"0x12", "12", false}, {"a12f", "12", false}, {"1e5", "1", false}, {"1e-5", "5", false}, {"x²", "x", false}, {"10²", "10", false}, {"½1", "1", false},
		{"at 2026-11-22T10:30:00Z", "2026-11-22", true}, {"at 2026-11-22T10:30:00Z", "11-22", false}, {"2026-11-22T10:30 x", "10:30", true},
		{"12:500 items", "500 items", true}, {`{"count":5}`, `5`, true}, {`{"count":5}`, `"count":5`, true},
		{"12\u00a0000 km", "12", false}, {"12\u00a0000 km", "12 000 km", true}, {"12 000 km", "12\u202f000 km", true}, {"a\u00a0b", "a b", true},
		{"error: no such file", "err", false}, {"error: no such file", "error: no", true}, {"not found", "found", true}, {"unfound", "found", false},
		{"one\r\n  two\tthree", "one two three", true}, {"one two", "onetwo", false}, {"one\ntwo", " one two\n", true},
		{"\x1b[31mfail\x1b[0med: \x1b]0;title\a3", "failed: 3", true}, {"failed: 3", "\x1b[1mfailed\x1b[0m: 3", true}, {"\x1b]8;;u\x1b\\link\x1b]8;;\x1b\\ 7", "link 7", true},
		{"café 3", "cafe\u0301 3", true}, {"cafe\u0301 3", "café 3", true}, {"cafe\u0301", "cafe", false}, {"café", "cafe", false},
		{"3月12日", "12日", true}, {"12万", "12", false}, {"東京は晴れ", "東京", true}, {"٣١٢", "١٢", false},
		{"Total", "total", false}, {"", "a", false}, {"naïve\xff12", "12", true},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			found, err := Find(t.Context(), in, c.quote)
			if err != nil || found[0] != c.want {
				t.Errorf("%q in %q: %v, %v", c.quote, c.text, found, err)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for quote, good := range map[string]bool{"": false, " \n": false, "…,": false, "a": true, "²": true, strings.Repeat("x", Most+1): false} {
		if err := Check(quote); (err == nil) != good {
			t.Errorf("%.20q: %v", quote, err)
		}
	}
}

// A quote is found wherever parts of a long text meet.
func TestFindLong(t *testing.T) {
	for _, at := range []int{0, block - 30, block - 1, block, block + 1, 2*block - 3, 3 * block} {
		text := strings.Repeat("a b ", at/4) + " 312 files of 7 " + strings.Repeat("c d ", block/2)
		found, err := Find(t.Context(), strings.NewReader(text), "312 files of 7", "12 files", "d c d", "files of")
		if want := []bool{true, false, true, true}; err != nil || !slices.Equal(found, want) {
			t.Errorf("at %d: %v, %v", at, found, err)
		}
	}
}

// TestQuotes draws 1,000 true quotes, which a model gave other white space, and as many
// altered ones: none is taken wrongly.
func TestQuotes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 1))
	for n := range 1000 {
		words := sample(rnd)
		text := spaced(rnd, words, true)
		from := rnd.IntN(len(words) - 6)
		part := slices.Clone(words[from : from+1+rnd.IntN(6)])
		if found, err := Find(t.Context(), strings.NewReader(text), spaced(rnd, part, false)); err != nil || !found[0] {
			t.Fatalf("%d: true quote %q is not found in %q: %v", n, part, text, err)
		}
		for altered := false; !altered; { // what comes out may happen to be there
			part = slices.Clone(words[from : from+2+rnd.IntN(5)])
			alter(rnd, part)
			part = slices.DeleteFunc(part, func(w string) bool { return w == "" })
			altered = !stands(words, part)
		}
		if found, err := Find(t.Context(), strings.NewReader(text), spaced(rnd, part, false)); err != nil || found[0] {
			t.Fatalf("%d: altered quote %q is found in %q: %v", n, part, text, err)
		}
	}
}

// sample is a text as tools give them, word by word.
func sample(rnd *rand.Rand) (words []string) {
	some := strings.Fields("error warning disk café naïve rows of in total /var/log/syslog id=a7 user: (none) | – done, not ok; größer 東京 host.example")
	units := []string{"", "%", "GB", " ms", " rows", ",", ".", ";"}
	for range 20 + rnd.IntN(60) {
		if rnd.IntN(2) == 0 {
			words = append(words, some[rnd.IntN(len(some))])
			continue
		}
		number := fmt.Sprint(rnd.IntN(5000))
		switch rnd.IntN(6) {
		case 0:
			number = fmt.Sprintf("%d,%03d", 1+rnd.IntN(99), rnd.IntN(1000))
		case 1:
			number = fmt.Sprintf("%.2f", rnd.Float64()*1000)
		case 2:
			number = "-" + number
		case 3:
			number = fmt.Sprintf("2026-11-%02d", 1+rnd.IntN(30))
		}
		words = append(words, strings.Fields(number+units[rnd.IntN(len(units))])...)
	}
	return append(words, "the", "end", "of", "all", "this", "text", "is", "here")
}

// spaced is a text of words, with the white space, and if coloured also the escapes and
// the forms of letters, that tools give.
func spaced(rnd *rand.Rand, words []string, coloured bool) string {
	var b strings.Builder
	for _, w := range words {
		if coloured && rnd.IntN(6) == 0 {
			w = "\x1b[1;31m" + w + "\x1b[0m"
		}
		if coloured && rnd.IntN(3) == 0 {
			w = strings.NewReplacer("é", "e\u0301", "ï", "i\u0308", "ö", "o\u0308").Replace(w)
		}
		b.WriteString(w + []string{" ", "  ", "\n", "\r\n", "\t", " \n "}[rnd.IntN(6)])
	}
	return b.String()
}

// alter makes another quote of one.
func alter(rnd *rand.Rand, words []string) {
	i := rnd.IntN(len(words))
	if rnd.IntN(4) > 0 { // mostly a number
		for range 3 * len(words) {
			if i = rnd.IntN(len(words)); strings.ContainsAny(words[i], "0123456789") {
				break
			}
		}
	}
	w := words[i]
	digit := strings.IndexAny(w, "0123456789")
	switch kind := rnd.IntN(8); {
	case digit < 0 && kind < 4:
		words[i] = w + "s"
	case digit < 0:
		j := (i + 1) % len(words)
		words[i], words[j] = words[j], words[i]
	case kind == 0:
		words[i] = w[:digit] + string('0'+(w[digit]-'0'+byte(1+rnd.IntN(9)))%10) + w[digit+1:]
	case kind == 1:
		words[i] = w[:digit] + w[digit+1:]
	case kind == 2:
		words[i] = w[:digit] + "1" + w[digit:]
	case kind == 3:
		words[i] = strings.Replace(w, ",", "", 1)
	case kind == 4:
		words[i] = strings.TrimPrefix(w, "-")
	case kind == 5:
		words[i] = w[:digit+1] + "." + w[digit+1:]
	case kind == 6:
		words[i] = strings.NewReplacer("%", "", "GB", "MB", ".", ",").Replace(w)
	case kind == 7:
		words[i] = w[:digit+1]
	}
}

// stands says by other means whether a quote stands in a text: word by word, where
// marks of punctuation at its ends may be missing.
func stands(words, part []string) bool {
	bare := func(list []string) string {
		return " " + strings.TrimRight(strings.TrimLeft(strings.Join(list, " "), "(/|"), ".,;:|)") + " "
	}
	want := bare(part)
	for i := range words {
		if i+len(part) <= len(words) && bare(words[i:i+len(part)]) == want {
			return true
		}
	}
	return strings.TrimSpace(want) == ""
}
