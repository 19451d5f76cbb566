package redact

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"
)

// holding is a text with secrets, two that overlap among them, and its redactor.
func holding() (*Redactor, string) {
	const one, two = "Secret-Value-1234", "1234-Other-Value"
	r := New(map[string]string{"A_TOKEN": one, "B_TOKEN": two})
	return r, "ab" + one + "cd" + one[:len(one)-4] + two + "ef" + base64.StdEncoding.EncodeToString([]byte(one)) + "gh"
}

// However a text is cut into windows, they hold what all of it would hold, with
// the mark twice of a secret that a cut goes through.
func TestWindow(t *testing.T) {
	r, s := holding()
	for i := range len(s) + 1 {
		if got := r.Window(s, 0, i) + r.Window(s, i, len(s)); withoutMarks(got) != withoutMarks(r.String(s)) {
			t.Errorf("cut at %d: %s", i, got)
		}
		if i < 2 || i > 4 {
			continue
		}
		if got := r.Window(s, i, len(s)); strings.Count(got, "[REDACTED:") != 3 {
			t.Errorf("from %d: %s", i, got)
		}
	}
	if r.Reach() < 24 || (*Redactor)(nil).Reach() != 0 || (*Redactor)(nil).Window(s, 1, 3) != "bS" {
		t.Error("a reach, or a window that hides nothing")
	}
}

func withoutMarks(s string) string {
	return strings.NewReplacer("[REDACTED:A_TOKEN]", "", "[REDACTED:B_TOKEN]", "").Replace(s)
}

// Found finds what a writer would replace.
func TestFound(t *testing.T) {
	r, s := holding()
	for text, want := range map[string]bool{"": false, "harmless, Secret-Value-123": false, strings.Repeat("x", maxPiece-9) + s: true} {
		if got, err := r.Found(strings.NewReader(text)); got != want || err != nil {
			t.Errorf("%.40s: %v, %v", text, got, err)
		}
	}
}

// A text that is cut within a secret leaves nothing of it, nor of one that begins
// within a secret before.
func TestCut(t *testing.T) {
	r, s := holding()
	for i := range len(s) + 1 {
		var b bytes.Buffer
		w := r.Writer(&b)
		io.WriteString(w, s[:i])
		Cut(w)
		io.WriteString(w, "\n[CUT]")
		w.Close()
		got, _ := strings.CutSuffix(b.String(), "\n[CUT]")
		if !strings.HasPrefix(r.String(s), got) {
			t.Errorf("cut at %d: %s", i, got)
		}
	}
	Cut(io.Discard)
}

// The end of a text has no part of a secret, wherever it begins.
func TestTail(t *testing.T) {
	r, s := holding()
	for limit := 1; limit < 80; limit++ {
		tail := r.NewTail(limit)
		for i := range len(s) {
			io.WriteString(tail, s[i:i+1])
		}
		got := strings.TrimPrefix(tail.String(), "…")
		if !strings.HasSuffix(r.String(s), got) || len(got) > limit {
			t.Errorf("%d: %s", limit, got)
		}
	}
}

func TestJSON(t *testing.T) {
	r := New(map[string]string{"A_TOKEN": "Secret-Value-1234", "PIN": "12345678"})
	for in, want := range map[string]string{
		`{"b":"Secret-Value-1234","a":1.50}`:  `{"a":1.50,"b":"[REDACTED:A_TOKEN]"}`,
		`{"\u0053ecret-Value-1234":12345678}`: `{"[REDACTED:A_TOKEN]":"[REDACTED:PIN]"}`,
		`{"b":"\u0061\n","a":1}`:              `{"b":"\u0061\n","a":1}`,
		`{"b":Secret-Value-1234}`:             `{"b":[REDACTED:A_TOKEN]}`,
	} {
		if got := string(r.JSON([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
