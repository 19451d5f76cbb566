package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// encoders are independent of forms.go: the standard library's own.
var encoders = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "y")) },
	func(s string) string { return base64.URLEncoding.EncodeToString([]byte("xx" + s + "yy")) },
	func(s string) string { return hex.EncodeToString([]byte(s)) },
	func(s string) string { return fmt.Sprintf("%X", s) },
	url.QueryEscape,
	url.PathEscape,
	func(s string) string { j, _ := json.Marshal(s); return string(j) },
	func(s string) string {
		return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s)))
	},
}

const (
	words   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	symbols = words + "+/=-_.~ !\"#$%&'()*,:;<>?@\\^`{|}\n\té漢😀"
	few     = "abab/+"
)

func randomText(rnd *rand.Rand, alphabet string, n int) string {
	runes := []rune(alphabet)
	var b strings.Builder
	for range n {
		b.WriteRune(runes[rnd.IntN(len(runes))])
	}
	return b.String()
}

// scene is a random set of secrets and a random text that holds some of them.
type scene struct {
	secrets map[string]string
	text    string
}

func randomScene(rnd *rand.Rand) scene {
	s := scene{secrets: make(map[string]string)}
	alphabet := []string{words, symbols, few}[rnd.IntN(3)]
	var values []string
	for i := range 1 + rnd.IntN(6) {
		value := randomText(rnd, alphabet, 8+rnd.IntN(30))
		if i > 0 && rnd.IntN(3) == 0 { // one that holds, or overlaps, another
			other := values[rnd.IntN(i)]
			value = other[rnd.IntN(2)*len(other)/2:] + value
		}
		values = append(values, value)
		s.secrets[fmt.Sprintf("S%d", i)] = value
	}
	var b strings.Builder
	for range rnd.IntN(20) {
		switch value := values[rnd.IntN(len(values))]; rnd.IntN(4) {
		case 0:
			b.WriteString(value[:rnd.IntN(len(value))])
		case 1:
			b.WriteString(encoders[rnd.IntN(len(encoders))](value))
		default:
			b.WriteString(randomText(rnd, alphabet, rnd.IntN(60)))
		}
	}
	s.text = b.String()
	return s
}

// forms lists every spelling of the secrets that a Redactor can know.
func (s scene) forms() []string {
	var list []string
	for name, value := range s.secrets {
		for _, secret := range appendSecret(nil, name, value) {
			list = append(list, spellings(secret.value)...)
		}
	}
	return list
}

// simple redacts as the documentation says, without any art: every byte that a
// form covers goes, and a mark stands where a stretch of them begins.
func (s scene) simple() string {
	covered := make([]int, len(s.text)+1) // by start: the furthest end
	for _, form := range s.forms() {
		for at := 0; at+len(form) <= len(s.text); at++ {
			if s.text[at:at+len(form)] == form {
				covered[at] = max(covered[at], at+len(form))
			}
		}
	}
	var b strings.Builder
	end := 0
	for at := range len(s.text) {
		if covered[at] > 0 && at >= end {
			b.WriteString("[MARK]")
		}
		if end = max(end, covered[at]); at >= end {
			b.WriteByte(s.text[at])
		}
	}
	return b.String()
}

func TestRandomScenes(t *testing.T) {
	const rounds = 1000
	hits, chunks := 0, 0
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := randomScene(rnd)
		r := New(s.secrets)
		got := r.String(s.text)
		if want := s.simple(); unmarked(s, got) != want {
			t.Fatalf("seed %d: %q\n%q became\n%q, want\n%q", seed, s.secrets, s.text, got, want)
		}
		for _, form := range s.forms() {
			if strings.Contains(got, form) {
				t.Fatalf("seed %d: %q is still in %q", seed, form, got)
			}
		}
		if again := r.String(got); again != got {
			t.Fatalf("seed %d: redacting twice changed\n%q to\n%q", seed, got, again)
		}
		streamed, n := inRandomChunks(t, r, s.text, rnd)
		if streamed != got {
			t.Fatalf("seed %d: %q\nstreamed\n%q, at once\n%q", seed, s.secrets, streamed, got)
		}
		chunks += n
		hits += strings.Count(got, "[REDACTED:")
	}
	t.Logf("%d scenes, %d secrets replaced, %d chunks: 0 forms left, 0 differences from a simple search", rounds, hits, chunks)
	if hits < rounds {
		t.Errorf("only %d secrets met: the scenes test nothing", hits)
	}
}

// unmarked makes the marks of all secrets alike.
func unmarked(s scene, text string) string {
	for name := range s.secrets {
		text = strings.ReplaceAll(text, "[REDACTED:"+name+"]", "[MARK]")
	}
	return text
}

// inRandomChunks also checks that a writer holds back only what it must.
func inRandomChunks(t *testing.T, r *Redactor, text string, rnd *rand.Rand) (string, int) {
	t.Helper()
	var b bytes.Buffer
	w := r.Writer(&b)
	n := 0
	for rest := text; len(rest) > 0; n++ {
		size := min(1+rnd.IntN(40), len(rest))
		if got, err := io.WriteString(w, rest[:size]); got != size || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", size, got, err)
		}
		rest = rest[size:]
		if inner := w.(*writer); len(inner.buf) >= inner.m.longest {
			t.Fatalf("%d bytes held back, the longest form has %d", len(inner.buf), inner.m.longest)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), n
}

func TestHarmlessTextIsNotHeldBack(t *testing.T) {
	var b strings.Builder
	w := New(map[string]string{"A": "12345678"}).Writer(&b)
	io.WriteString(w, "working… 50 %")
	if b.String() != "working… 50 %" {
		t.Errorf("passed on %q", b.String())
	}
	io.WriteString(w, " 1234")
	if b.String() != "working… 50 % " {
		t.Errorf("passed on %q", b.String())
	}
}

func TestWriterTellsAnError(t *testing.T) {
	w := New(map[string]string{"A": "12345678"}).Writer(brokenWriter{})
	if _, err := io.WriteString(w, "text"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write: %v", err)
	}
	w = New(map[string]string{"A": "12345678"}).Writer(brokenWriter{})
	if n, err := io.WriteString(w, "1234"); n != 4 || err != nil {
		t.Errorf("Write of what is held back: %d, %v", n, err)
	}
	if err := w.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close: %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestHarmlessTextStays(t *testing.T) {
	text := string(logText(1 << 20))
	r := New(manySecrets(20))
	if got := r.String(text); got != text {
		t.Error("a text without secrets changed")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("correct-horse", "battery staple", "the correct-horse and Y29ycmVjdC1ob3JzZQ==", uint64(1))
	f.Add(odd, "p@ss/w+rd", odd+url.QueryEscape(odd), uint64(2))
	f.Add("aaaaaaaa", "aaaabaaaa", strings.Repeat("aaaab", 20), uint64(3))
	f.Fuzz(func(t *testing.T, a, b, text string, seed uint64) {
		s := scene{map[string]string{"A": a, "B": b}, text}
		if strings.ContainsAny(a+b, "[]") { // may join with a mark to a new secret
			return
		}
		r := New(s.secrets)
		got := r.String(text)
		for _, form := range s.forms() {
			if strings.Contains(got, form) && !strings.Contains("[REDACTED:A]", form) {
				t.Errorf("%q is still in %q", form, got)
			}
		}
		if streamed, err := chunked(r, text, seed); streamed != got || err != nil {
			t.Errorf("streamed %q, %v, at once %q", streamed, err, got)
		}
	})
}

func chunked(r *Redactor, text string, seed uint64) (string, error) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	w := r.Writer(&b)
	for len(text) > 0 {
		n := 1 + rnd.IntN(len(text))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return "", err
		}
		text = text[n:]
	}
	err := w.Close()
	return b.String(), err
}
