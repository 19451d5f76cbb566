package text

import "testing"

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc\rd": `a\tb\nc\rd`, "\u2028\u0085": `\u2028\u0085`, "é😀": "é😀", "\U000e0001": `\U000e0001`, "bad\xff": "bad�",
	} {
		if got := Line(in, 100); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Line("ééé", 2); got != "éé…" {
		t.Errorf("cut: %q", got)
	}
}
