package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestEcho(t *testing.T) {
	e := Echo()
	got := e.Run(context.Background(), Call{Args: json.RawMessage(`{"message":"hi\nthere"}`), Output: io.Discard})
	if diff := cmp.Diff(Result{OK: true, Content: "ECHO: hi\nthere"}, got); diff != "" {
		t.Error(diff)
	}
	if !e.ReadOnly || e.Description == "" {
		t.Errorf("echo: read-only %v, description %q", e.ReadOnly, e.Description)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		args string
		ok   bool
	}{
		{`{"message":"x"}`, true},
		{`{"message":1}`, false},
		{`{}`, false},
		{`{"message":"x","more":1}`, false},
		{`["x"]`, false},
		{`null`, false},
		{`{"message":`, false},
	} {
		err := Echo().Check(json.RawMessage(c.args))
		if (err == nil) != c.ok {
			t.Errorf("Check(%s) = %v, want ok %v", c.args, err, c.ok)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("Check(%s): more than one line: %q", c.args, err)
		}
	}
}

func TestCopy(t *testing.T) {
	png := "\x89PNG\r\n\x1a\nrest"
	late := strings.Repeat("x", 70<<10) + "\x00tail"
	for _, c := range []struct {
		name, in string
		limit    int64
		out      string
		want     Copied
	}{
		{"empty", "", 10, "", Copied{Encoding: "utf-8"}},
		{"text", "a\nb", 10, "a\nb", Copied{Bytes: 3, Lines: 2, Encoding: "utf-8"}},
		{"escape codes stay text", "\x1b[31mred", 99, "\x1b[31mred", Copied{Bytes: 8, Lines: 1, Encoding: "utf-8"}},
		{"exactly the limit", "abc\n", 4, "abc\n", Copied{Bytes: 4, Lines: 1, Encoding: "utf-8"}},
		{"over the limit", "abcdef", 4, "abcd", Copied{Bytes: 4, Lines: 1, Encoding: "utf-8", Truncated: true, Note: "\n[CUT after 4 bytes]"}},
		{"cut in a character", "aé!", 2, "a", Copied{Bytes: 2, Lines: 1, Encoding: "utf-8", Truncated: true, Note: "\n[CUT after 2 bytes]"}},
		{"ends in a character", "a\xc3", 10, "a\xc3", Copied{Bytes: 2, Lines: 1, Encoding: "binary"}},
		{"ends in a character at the limit", "a\xc3", 2, "a\xc3", Copied{Bytes: 2, Lines: 1, Encoding: "binary"}},
		{"binary", png, 99, png, Copied{Bytes: 12, Lines: 3, Encoding: "binary"}},
		{"latin-1", "caf\xe9 au lait", 99, "caf\xe9 au lait", Copied{Bytes: 12, Lines: 1, Encoding: "binary"}},
		{"binary, cut", png, 9, png[:9], Copied{Bytes: 9, Lines: 3, Encoding: "binary", Truncated: true}},
		{"late NUL", late, 1 << 20, late, Copied{Bytes: 70<<10 + 5, Lines: 1, Encoding: "binary"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)),
				iotest.DataErrReader(strings.NewReader(c.in))} {
				var out bytes.Buffer
				got, err := Copy(&out, r, c.limit)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if out.String() != c.out {
					t.Errorf("passed on %q, want %q", out.String(), c.out)
				}
			}
		})
	}
}

func TestCopyErrors(t *testing.T) {
	cause := errors.New("cable cut")
	var out bytes.Buffer
	got, err := Copy(&out, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(cause)), 99)
	if !errors.Is(err, cause) || got.Bytes != 4 || out.String() != "half" {
		t.Errorf("reader: %v, %+v, %q", err, got, out.String())
	}
	got, err = Copy(&out, iotest.DataErrReader(io.MultiReader(strings.NewReader("half"),
		iotest.ErrReader(io.ErrUnexpectedEOF))), 99)
	if !errors.Is(err, io.ErrUnexpectedEOF) || got.Bytes != 4 {
		t.Errorf("short body: %v, %+v", err, got)
	}
	r, w := io.Pipe()
	r.CloseWithError(cause)
	if _, err = Copy(w, strings.NewReader("x"), 99); !errors.Is(err, cause) {
		t.Errorf("writer: %v", err)
	}
}

// All of what came in is passed on, but for a character that the limit cut.
func FuzzCopy(f *testing.F) {
	f.Add([]byte("a\xc3\xa9\x00b"), int64(3), true)
	f.Add([]byte("\xff"), int64(0), false)
	f.Fuzz(func(t *testing.T, in []byte, limit int64, slow bool) {
		limit = min(max(limit, 0), 1<<20)
		var r io.Reader = bytes.NewReader(in)
		if slow {
			r = iotest.OneByteReader(r)
		}
		var out bytes.Buffer
		got, err := Copy(&out, r, limit)
		if err != nil {
			t.Fatal(err)
		}
		part, text := in[:min(int64(len(in)), limit)], utf8.Valid(out.Bytes()) && bytes.IndexByte(out.Bytes(), 0) < 0
		rest, ok := bytes.CutPrefix(part, out.Bytes())
		if !ok || len(rest) > 0 && (!got.Truncated || utf8.FullRune(rest)) {
			t.Errorf("passed on %q of %q", out.Bytes(), part)
		}
		if text != (got.Encoding == "utf-8") {
			t.Errorf("%q called %s", out.Bytes(), got.Encoding)
		}
		if want := min(int64(len(in)), limit); got.Bytes != want || got.Truncated != (int64(len(in)) > limit) {
			t.Errorf("%d bytes, limit %d: %+v", len(in), limit, got)
		}
	})
}
