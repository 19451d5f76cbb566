package erase

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"gopkg.in/yaml.v3"
)

const value = `p/"4 ' é\s 𝄞 word`

// forms are how a value stands in files, made by other means.
func forms(t *testing.T) (list []string) {
	for i, text := 0, value; i < 3; i++ { // JSON in JSON in JSON
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
		list = append(list, text)
	}
	for _, style := range []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle} {
		b, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Style: style, Value: strings.Repeat("long ", 20) + value + strings.Repeat(" long", 30)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	b64 := base64.StdEncoding.EncodeToString([]byte("x" + value + "yy"))
	return append(list, value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value)), b64,
		strings.ReplaceAll(value, " ", "\n    "), strings.ReplaceAll(value, " ", " \\\n  \\ "), strings.ReplaceAll(value, "é", `\xE9`))
}

func TestForms(t *testing.T) {
	e, err := New(" " + value + "\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms(t) {
		out, hits := e.Bytes([]byte("before " + form + " after"))
		if hits != 1 || !bytes.Contains(out, []byte(Mark)) || !bytes.HasPrefix(out, []byte("before ")) || !bytes.HasSuffix(out, []byte(" after")) {
			t.Errorf("%q: %d, %q", form, hits, out)
		}
	}
	if out, n := e.Bytes([]byte("nothing of it: " + value[1:])); n > 0 {
		t.Errorf("%q", out)
	}
	if _, err := New("short  "); err == nil {
		t.Error("a short one is taken")
	}
}

// What is large is read in parts, and a value is found wherever these meet; what is no
// text keeps its length.
func TestReader(t *testing.T) {
	e, err := New("my-0123456789")
	if err != nil {
		t.Fatal(err)
	}
	for _, pad := range []int{0, 1, block - 13, block - 5, block, block + e.reach - 6, 2*block - 3, 3 * block} {
		for name, tail := range map[string]string{"text": "", "binary": "\x00\xff"} {
			in := tail + strings.Repeat("a", pad) + "my-0123456789" + strings.Repeat("b", block) + "my-0123456789"
			r := e.Reader(iotest.HalfReader(strings.NewReader(in)))
			out, err := io.ReadAll(r)
			want := strings.ReplaceAll(in, "my-0123456789", map[string]string{"text": Mark, "binary": "xxxxxxxxxxxxx"}[name])
			if err != nil || r.Hits != 2 || string(out) != want {
				t.Errorf("%s at %d: %d hits, %d bytes, %v", name, pad, r.Hits, len(out), err)
			}
		}
	}
	if out, _ := must(New("123456789")).Bytes([]byte(`{"n":123456789}`)); !json.Valid(out) {
		t.Errorf("%s", out)
	}
}

func must(e *Eraser, err error) *Eraser {
	if err != nil {
		panic(err)
	}
	return e
}

func TestRename(t *testing.T) {
	a, b, c := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	s := Sums{a: {Sum: b}, b: {Sum: c}}
	if got := string(s.Rename([]byte(a + " x" + b + ` "` + b + `"`))); got != c+" x"+b+` "`+c+`"` {
		t.Error(got)
	}
}
