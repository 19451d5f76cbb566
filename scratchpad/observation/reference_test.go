package observation

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// reference answers from a plain string in memory what a content answers.
type reference struct {
	data  []byte
	chars []int // where each character begins, and the end
	lines []int // the same for lines
}

// newReference is that of a content.
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

// Slice is what Slice gives where nothing is too large.
func (r reference) Slice(u Unit, start, end int64) Part {
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

// Grep gives the numbers of the lines that match.
func (r reference) Grep(re *regexp.Regexp) (lines []int64) {
	for i := range r.lines[1:] {
		line := r.data[r.lines[i]:r.lines[i+1]]
		if re.Match(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) {
			lines = append(lines, int64(i+1))
		}
	}
	return lines
}

// sample is a content to test with.
type sample struct {
	name string
	data []byte
}

// samples are contents of all sorts, some with chunks that end at odd places.
func samples() []sample {
	line := "a line of text, number 17\n"
	list := []sample{
		{"empty", nil},
		{"one byte", []byte("x")},
		{"only a newline", []byte("\n")},
		{"newlines", bytes.Repeat([]byte("\n"), 70_000)},
		{"no final newline", []byte("one\ntwo")},
		{"crlf", []byte(strings.Repeat("a line\r\n", 9_000))},
		{"carriage returns", []byte(strings.Repeat("a\rb\r\r\n\r", 12_000))},
		{"text", []byte(strings.Repeat(line, 6_000))},
		{"a chunk", bytes.Repeat([]byte("y"), chunkSize)},
		{"a chunk and a byte", bytes.Repeat([]byte("y"), chunkSize+1)},
		{"a chunk, newline at its end", append(bytes.Repeat([]byte("y"), chunkSize-1), '\n')},
		{"two chunks", append(append(bytes.Repeat([]byte("y"), chunkSize-1), '\n'), bytes.Repeat([]byte("z"), chunkSize)...)},
		{"a block", []byte(strings.Repeat(strings.Repeat("y", 63)+"\n", 4*blockSize/64))},
		{"a long line", bytes.Repeat([]byte("0123456789"), 110_000)},
		{"long lines", []byte(strings.Repeat(strings.Repeat("long é ", 20_000)+"\r\nshort\n", 4))},
		{"chinese", []byte(strings.Repeat("一二三四五六七八九十", 6_000))},
		{"emoji", []byte(strings.Repeat("a😀é\n", 12_000))},
		{"invalid", []byte(strings.Repeat("ok \xff\xe2\x82 \x80\n", 9_000))},
		{"cut rune at the end", []byte(strings.Repeat("é", 50_000) + "\xe2\x82")},
	}
	for seed := range uint64(4) {
		list = append(list, sample{"random " + string('0'+rune(seed)), randomText(seed, 200_000)})
	}
	return list
}

// randomText is about n bytes of any characters, some of them none.
func randomText(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for len(b) < n {
		switch r.IntN(12) {
		case 0:
			b = append(b, '\n')
		case 1:
			b = append(b, "\r\n"...)
		case 2:
			b = append(b, byte(r.IntN(256)))
		case 3:
			b = append(b, string(rune(r.IntN(0x10ffff)))...)
		case 4:
			b = append(b, bytes.Repeat([]byte{'a' + byte(r.IntN(26))}, r.IntN(200_000)>>r.IntN(18))...)
		default:
			b = append(b, "error in the 42nd word "[:r.IntN(24)]...)
		}
	}
	return b
}
