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

func TestCuts(t *testing.T) {
	for i, tt := range []struct{ got, want string }{
		{Words(" a\t\nb\x1b[31m\u2028c\xff "), "a b [31m c\ufffd"},
		{Cut("ééé", 3), "ééé"}, {Cut("éééé", 3), "ééé…"}, {Cut("é", 0), "…"}, {Cut("é", -1), ""}, {Cut("", -1), ""},
		{CutBytes("ééé", 6), "ééé"}, {CutBytes("ééé", 5), "éé…"},
		{Tail("ééé", 6), "ééé"}, {Tail("ééé", 5), "…éé"},
		{Middle("éééé", 4), "éééé"}, {Middle("abcdé", 4), "ab\n… 1 characters left out\ndé"},
		{Brief("a\n b  c", 3), "a b…"},
		{Count(1, "line"), "1 line"}, {Count(int64(0), "line"), "0 lines"}, {Count(2, "line"), "2 lines"},
	} {
		if tt.got != tt.want {
			t.Errorf("%d: %q, want %q", i, tt.got, tt.want)
		}
	}
}

func TestBlock(t *testing.T) {
	if got, want := Block("a\tb\nc\x1b[2J\r\n\u202ed\xff"), "a\tb\nc\\u001b[2J\\r\n\\u202ed�"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestObeyed(t *testing.T) {
	for s, want := range map[string]bool{
		"/home/é 100% 'x' \\ 👩‍🚀\u00a0": false, "a\nb": true, "a\x1b[2J": true, "a\u202eb": true, "a\u2066b": true, "a\u0085b": true, "a\u2028b": true,
	} {
		if Obeyed(s) != want {
			t.Errorf("%q: %t", s, !want)
		}
	}
}

func TestJoin(t *testing.T) {
	if got := Join([]int{1, 2}, ", ", func(n int) string { return Count(n, "line") }); got != "1 line, 2 lines" {
		t.Error(got)
	}
	if got := Join(nil, ", ", func(string) string { return "none" }); got != "" {
		t.Error(got)
	}
}
