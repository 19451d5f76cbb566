package main

import (
	"strings"
	"testing"
)

// What a terminal would obey is shown, not sent.
func TestEscaping(t *testing.T) {
	var b strings.Builder
	n, err := escaping{&b}.Write([]byte("a\tb é\n\x1b[2J\x00\r\n\xff\u202e😀"))
	want := "a\tb é\n" + `\u001b[2J\u0000\r` + "\n\ufffd" + `\u202e` + "😀"
	if n == 0 || err != nil || b.String() != want {
		t.Errorf("%q, %v; want %q", b.String(), err, want)
	}
}
