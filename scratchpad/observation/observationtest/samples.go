package observationtest

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// Sizes at which a store may cut contents.
const (
	chunkSize = 64 << 10
	blockSize = 1 << 20
)

// Sample is a content to test with.
type Sample struct {
	Name string
	Data []byte
}

// Samples are contents of all sorts, some with chunks that end at odd places.
func Samples() []Sample {
	line := "a line of text, number 17\n"
	list := []Sample{
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
		{"a block", []byte(strings.Repeat(strings.Repeat("y", 63)+"\n", blockSize/64))},
		{"a long line", bytes.Repeat([]byte("0123456789"), 110_000)},
		{"long lines", []byte(strings.Repeat(strings.Repeat("long é ", 20_000)+"\r\nshort\n", 4))},
		{"chinese", []byte(strings.Repeat("一二三四五六七八九十", 6_000))},
		{"emoji", []byte(strings.Repeat("a😀é\n", 12_000))},
		{"invalid", []byte(strings.Repeat("ok \xff\xe2\x82 \x80\n", 9_000))},
		{"cut rune at the end", []byte(strings.Repeat("é", 50_000) + "\xe2\x82")},
	}
	for seed := range uint64(4) {
		list = append(list, Sample{"random " + string('0'+rune(seed)), randomText(seed, 200_000)})
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
