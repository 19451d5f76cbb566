package observation

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSummaryOfEachKind(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 45115)...)
	tests := []struct {
		name  string
		data  string
		kind  Kind
		facts string
	}{
		{"text", "one\ntwo\n", Text, "2 lines, 8 characters"},
		{"empty", "", Text, "0 lines, 0 characters"},
		{"one character", "é", Text, "1 line, 1 character"},
		{"log", "2026-11-21 INFO start\n2026-11-21 WARN odd\n  at more\n2026-11-21 ERROR no disk\nx ERROR again\n", Log,
			"5 lines, 91 characters\nlevels: 2 error, 1 warn, 1 info\nfirst error, line 4: 2026-11-21 ERROR no disk\nlast error, line 5: x ERROR again"},
		{"klog", "I1121 04:15:26.123456 1 a.go:1] up\nE1121 04:15:26.123456 1 a.go:1] down\n", Log,
			"2 lines, 72 characters\nlevels: 1 error, 1 info\nfirst error, line 2: E1121 04:15:26.123456 1 a.go:1] down"},
		{"logfmt", "ts=1 level=info msg=\"error: none\"\nts=2 level=fatal err=x\n", Log,
			"2 lines, 57 characters\nlevels: 1 fatal, 1 info\nfirst error, line 2: ts=2 level=fatal err=x"},
		{"compiler", strings.Repeat("ok\n", 30) + "main.c:3: error: no such thing\n", Text,
			"31 lines, 121 characters\nlevels: 1 error\nfirst error, line 31: main.c:3: error: no such thing"},
		{"prose", "No error here; info and warning are words.\nnotice the difference: none\n", Text, "2 lines, 71 characters"},
		{"json", `{"id": 7, "tags": ["a"], "sub": {"x y": null, "b": [1, "2"]}, "ok": true}`, JSON,
			`1 line, 73 characters` + "\n" + `JSON: {id: number, tags: [1 of string], sub: {"x y": null, b: [2 of number or string]}, ok: boolean}`},
		{"array", `[{"a":1},{"a":null,"b":[]},{"a":2.5e3,"b":[1,2,3]}]` + "\n", JSON,
			"1 line, 52 characters\nJSON: [3 of {a: number or null, b: [0..3 of number]}]"},
		{"json lines", `{"level":"info","n":1}` + "\n" + `{"level":"error","n":2}` + "\n", JSON,
			"2 lines, 47 characters\nJSON: 2 values, each {level: string, n: number}\nlevels: 1 error, 1 info\nfirst error, line 2: {\"level\":\"error\",\"n\":2}"},
		{"not json", `{"a": 1,}`, Text, "1 line, 9 characters"},
		{"broken json", `[1, 2`, Text, "1 line, 5 characters"},
		{"bad number", `[01]`, Text, "1 line, 4 characters"},
		{"log in brackets", "[INFO] up\n[ERROR] down\n", Log, "2 lines, 23 characters\nlevels: 1 error, 1 info\nfirst error, line 2: [ERROR] down"},
		{"csv", "id,name,note\n1,a,x\n2,\"b, c\",\"two\nlines\"\n3,d,\n", CSV, "5 lines, 45 characters\n3 rows, 3 columns: id, name, note"},
		{"tsv", "id\tname\n1\ta\n2\tb", TSV, "3 lines, 15 characters\n2 rows, 2 columns: id, name"},
		{"csv, dos", "a;b\r\n1;2\r\n", CSV, "2 lines, 10 characters\n1 row, 2 columns: a, b"},
		{"python log", "2026-11-21 04:15:26,123 INFO a\n2026-11-21 04:15:26,124 INFO b\n", Log, "2 lines, 62 characters\nlevels: 2 info"},
		{"html", "<!DOCTYPE html><html><head><TITLE>A &amp; B\n </title><style>p{}</style></head><body><p class=\"x\">Hello,\n  world</p><script>var a='<b>'</script></body></html>", HTML,
			"3 lines, 157 characters\nHTML: title \"A & B\", about 12 characters of text"},
		{"png", string(png), Binary, ""},
		{"invalid", "text \xff text", Binary, "1 line; some bytes are not text, and grep and lines show the rest"},
		{"nul", "a\x00b", Binary, "1 line; some bytes are not text, and grep and lines show the rest"},
		{"cut off", "text \xe2\x82", Binary, "1 line; some bytes are not text, and grep and lines show the rest"},
		{"pdf", "%PDF-1.4 all ASCII", Binary, ""},
		{"escape codes", "\x1b[31mred\x1b[0m\n", Text, "1 line, 13 characters"},
	}
	turn := begin(t, openStore(t, "", Options{}), "turn")
	for _, tt := range tests {
		e := put(t, turn, []byte(tt.data))
		if e.Kind != tt.kind || e.Facts != tt.facts {
			t.Errorf("%s: %s, %q\nwant %s, %q", tt.name, e.Kind, e.Facts, tt.kind, tt.facts)
		}
		if tt.kind != Binary && e.Summary != tt.data {
			t.Errorf("%s: the summary is %q", tt.name, e.Summary)
		}
	}
	want := fmt.Sprintf("[BINARY: 45123 bytes, sha256=%x, image/png]", sha256.Sum256(png))
	if e := put(t, turn, png); e.Summary != want || e.MIME != "image/png" {
		t.Errorf("a picture: %s", e.Summary)
	}
}

func TestPreviewIsExact(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{PreviewChars: 10}), "turn")
	for _, unit := range []string{"x", "é", "一", "😀", "a\n", "e\u0301"} {
		for _, n := range []int{0, 1, 9, 10, 11, 19, 20, 21, 22, 5000, 90_000} {
			r := []rune(strings.Repeat(unit, n))
			want := string(r)
			if len(r) > 20 {
				want = fmt.Sprintf("%s\n[... %d characters omitted ...]\n%s", string(r[:10]), len(r)-20, string(r[len(r)-10:]))
			}
			if e := put(t, turn, []byte(string(r))); e.Summary != want {
				t.Errorf("%d times %q: %q, want %q", n, unit, e.Summary, want)
			}
		}
	}
}

// TestSummaryIsShort gives contents that tempt a summary to be long.
func TestSummaryIsShort(t *testing.T) {
	wide := strings.Repeat("column_with_a_long_name,", 500)
	var keys bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&keys, `"key %d": {"a": [[[{"deep": %d}]]]},`, i, i)
	}
	contents := []string{
		"{" + strings.TrimSuffix(keys.String(), ",") + "}",
		strings.Repeat("[", 900) + strings.Repeat("]", 900),
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		`{"` + strings.Repeat("k", 100_000) + `": 1}`,
		numberedColumns(wide),
		strings.Repeat("ERROR "+strings.Repeat("long ", 1000)+"\n", 100),
		"<title>" + strings.Repeat("title ", 10_000),
		strings.Repeat(`{"a":`, 3000),
	}
	turn := begin(t, openStore(t, "", Options{}), "turn")
	for _, text := range contents {
		e := put(t, turn, []byte(text))
		n := utf8.RuneCountInString(e.Summary + "\n" + e.Facts)
		if n > 2000 {
			t.Errorf("%.20q: %d characters", text, n)
		}
		t.Logf("%-30.25q %-5s %5d characters: %.90s", text, e.Kind, n, strings.ReplaceAll(e.Facts, "\n", "; "))
	}
}

func numberedColumns(wide string) string {
	var names []string
	for i := range strings.Split(wide, ",") {
		names = append(names, fmt.Sprintf("column_%d", i))
	}
	row := strings.Repeat("1,", len(names)-1) + "1\n"
	return strings.Join(names, ",") + "\n" + strings.Repeat(row, 20)
}

// TestScansDoNotDependOnPieces gives the same text whole and in pieces.
func TestScansDoNotDependOnPieces(t *testing.T) {
	doc := []byte(`{"id": -7.5e2, "tags": ["a\"]", "é"], "sub": {"x y": null, "b": [1, "2", {}]}, "ok": true}`)
	page := []byte("<html><head><title>The Title</title><style>p{}</style></head><p>Hello, <b>world</b></p>")
	lines := []byte("INFO up\nsome text\nlevel=error x\nWARN\n\nlast ERROR")
	rows := []byte("a,b\n1,\"x\ny\"\n2,z\n")
	whole := pieces(doc, page, lines, rows, 1<<20)
	for n := 1; n < 50; n++ {
		if got := pieces(doc, page, lines, rows, n); got != whole {
			t.Errorf("in pieces of %d: %s\nwant %s", n, got, whole)
		}
	}
}

func pieces(doc, page, lines, rows []byte, n int) string {
	j, h, l, tab := newJSONScan(), &htmlScan{}, newLevels(), &table{delimiter: ',', columns: []string{"a", "b"}}
	feed(doc, n, j.add)
	feed(page, n, h.add)
	feed(rows, n, tab.add)
	l.add(lines)
	return fmt.Sprint(j.end(), j.String(), h, tab.String(5), l)
}

func feed(p []byte, n int, add func([]byte)) {
	for len(p) > 0 {
		k := min(n, len(p))
		add(p[:k])
		p = p[k:]
	}
}

// FuzzSummary sums up anything.
func FuzzSummary(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, {"b": null}], "c": "\""} true`, "<html><title>x</title><script>", "a,b\n1,\"2\n", "[INFO] up\nE1121 04:15:26 x", "\x89PNG\r\n\x1a\n\x00", "\ufeff[1]",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		d := newDigest(Options{PreviewChars: 10}.withDefaults())
		feed(data, max(1, n%50), d.add)
		d.count(measure(data))
		e := d.entry()
		if n := utf8.RuneCountInString(e.Summary + "\n" + e.Facts); n > 2000 || !utf8.ValidString(e.Summary+e.Facts) {
			t.Fatalf("%d characters, %q", n, e.Summary+e.Facts)
		}
	})
}
