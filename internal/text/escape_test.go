package text

import (
	"strings"
	"testing"
)

// What a terminal would obey is shown, not sent, wherever the text is cut.
func TestEscaping(t *testing.T) {
	text := "a\tb é\n\x1b[2J\x00\r\n\xff\u202e😀"
	want := "a\tb é\n" + `\u001b[2J\u0000\r` + "\n\ufffd" + `\u202e` + "😀"
	for cut := range len(text) {
		var b strings.Builder
		e := &Escaping{W: &b}
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("%d bytes of %q: %v", n, part, err)
			}
		}
		if b.String() != want {
			t.Errorf("cut at %d: %q; want %q", cut, b.String(), want)
		}
	}
}
