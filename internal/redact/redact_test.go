package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"strings"
	"testing"
)

const odd = `p@ss/w+rd "q" <é&\~>` // a value that every encoder has to touch

func TestForms(t *testing.T) {
	r := New(map[string]string{"PLAIN": "correct-horse", "ODD": odd})
	tests := []struct{ name, in, want string }{
		{"alone", "correct-horse", "[REDACTED:PLAIN]"},
		{"in a sentence", "use correct-horse now", "use [REDACTED:PLAIN] now"},
		{"glued to letters", "xcorrect-horsex", "x[REDACTED:PLAIN]x"},
		{"twice in a row", "correct-horsecorrect-horse", "[REDACTED:PLAIN][REDACTED:PLAIN]"},
		{"in a URL", "https://u:correct-horse@h/", "https://u:[REDACTED:PLAIN]@h/"},
		{"hex", hex.EncodeToString([]byte("correct-horse")), "[REDACTED:PLAIN]"},
		{"upper hex", strings.ToUpper(hex.EncodeToString([]byte("correct-horse"))), "[REDACTED:PLAIN]"},
		{"base64", base64.StdEncoding.EncodeToString([]byte("correct-horse")), "[REDACTED:PLAIN]Q=="},
		{"base64 unpadded", base64.RawStdEncoding.EncodeToString([]byte("correct-horse")), "[REDACTED:PLAIN]Q"},
		{"base64, 1 byte before", base64.StdEncoding.EncodeToString([]byte(":correct-horse")), "Om[REDACTED:PLAIN]U="},
		{"base64, 2 bytes before", base64.StdEncoding.EncodeToString([]byte("u:correct-horse!")), "dTp[REDACTED:PLAIN]IQ=="},
		{"odd", odd, "[REDACTED:ODD]"},
		{"base64 URL", base64.URLEncoding.EncodeToString([]byte("u:" + odd + "\n")), "dTp[REDACTED:ODD]4K"},
		{"JSON", jsonText(t, odd, true), `"[REDACTED:ODD]"`},
		{"JSON without HTML escapes", jsonText(t, odd, false), `"[REDACTED:ODD]"`},
		{"JSON from Python", `"p@ss/w+rd \"q\" <\u00e9&\\~>"`, `"[REDACTED:ODD]"`},
		{"JSON from PHP", `"p@ss\/w+rd \"q\" <\u00e9&\\~>"`, `"[REDACTED:ODD]"`},
		{"JSON with upper hex", `"p@ss/w+rd \"q\" <\u00E9&\\~>"`, `"[REDACTED:ODD]"`},
		{"query", "?k=" + url.QueryEscape(odd) + "&", "?k=[REDACTED:ODD]&"},
		{"query, lower hex", "?k=p%40ss%2fw%2brd+%22q%22+%3c%c3%a9%26%5c~%3e", "?k=[REDACTED:ODD]"},
		{"path segment", "/" + url.PathEscape(odd), "/[REDACTED:ODD]"},
		{"path", (&url.URL{Path: "/" + odd}).String(), "/[REDACTED:ODD]"},
		{"user info", url.UserPassword("u", odd).String(), "u:[REDACTED:ODD]"},
		{"JavaScript", "p%40ss%2Fw%2Brd%20%22q%22%20%3C%C3%A9%26%5C~%3E", "[REDACTED:ODD]"},
		{"HTML", html.EscapeString(odd), "[REDACTED:ODD]"},
		{"HTML by name", "p@ss/w+rd &quot;q&quot; &lt;é&amp;\\~&gt;", "[REDACTED:ODD]"},
		{"half of it", "correct-hors", "correct-hors"},
		{"in two lines", "correct-\nhorse", "correct-\nhorse"},
		{"short", "horse", "horse"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := written(t, r, tt.in, 1); got != tt.want {
				t.Errorf("written byte by byte, %q became %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func jsonText(t *testing.T, s string, escapeHTML bool) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// written is what a Writer makes of s in chunks of size bytes.
func written(t *testing.T, r *Redactor, s string, size int) string {
	t.Helper()
	var b strings.Builder
	w := r.Writer(&b)
	for len(s) > 0 {
		n := min(size, len(s))
		if _, err := io.WriteString(w, s[:n]); err != nil {
			t.Fatal(err)
		}
		s = s[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSecretsThatMeet(t *testing.T) {
	tests := []struct {
		name     string
		secrets  map[string]string
		in, want string
	}{
		{"one in another", map[string]string{"IN": "abcdefgh", "OUT": "--abcdefgh--"}, "x--abcdefgh--x abcdefgh", "x[REDACTED:OUT]x [REDACTED:IN]"},
		{"one begins another", map[string]string{"A": "abcdefgh", "B": "abcdefghij"}, "abcdefghij abcdefghi", "[REDACTED:B] [REDACTED:A]i"},
		{"overlap", map[string]string{"A": "12345678", "B": "56789abc"}, "<123456789abc>", "<[REDACTED:A]>"},
		{"overlap with itself", map[string]string{"A": "aaaaaaaa"}, strings.Repeat("a", 99) + ".", "[REDACTED:A]."},
		{"same value", map[string]string{"B": "12345678", "A": "12345678"}, "12345678", "[REDACTED:A]"},
		{"named as its value", map[string]string{"MY_PASSWORD": "MY_PASSWORD"}, "MY_PASSWORD", "[REDACTED]"},
		{"the mark itself", map[string]string{"A": "REDACTED"}, "REDACTED", "***"},
		{"white space around", map[string]string{"A": " 12345678\n"}, "12345678", "[REDACTED:A]"},
		{"too short", map[string]string{"A": "1234567", "B": " 123456 ", "C": "éééé"}, "1234567 éééé", "1234567 éééé"},
		{"several lines", map[string]string{"A": "line one\nline two"}, `{"a":"line one\nline two"}`, `{"a":"[REDACTED:A]"}`},
		{"not text", map[string]string{"A": "\xff\x00\xfe\xfd12345"}, "a\xff\x00\xfe\xfd12345", "a[REDACTED:A]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(tt.secrets)
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := written(t, r, tt.in, 3); got != tt.want {
				t.Errorf("written, %q became %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestFromEnv(t *testing.T) {
	tests := []struct {
		entry  string
		secret bool
	}{
		{"OPENAI_API_KEY=12345678", true},
		{"github_token=12345678", true},
		{"CLIENT_SECRET=12345678", true},
		{"Db_Password=12345678", true},
		{"TOKEN=12345678", true},
		{"API_KEY=12345678", true},
		{"LISTED=12345678", true},
		{"listed=12345678", false},
		{"OPENAI_API_KEY=1234567", false},
		{"OPENAI_API_KEY=", false},
		{"OPENAI_API_KEY", false},
		{"TOKENS=12345678", false},
		{"KEYTOKEN=12345678", false},
		{"PATH=12345678", false},
		{"SECRET_NAME=12345678", false},
	}
	for _, tt := range tests {
		r := FromEnv([]string{"HOME=/root", tt.entry}, []string{"LISTED"})
		if got := r.String("12345678") != "12345678"; got != tt.secret {
			t.Errorf("%s: taken as a secret: %v, want %v", tt.entry, got, tt.secret)
		}
	}
}

func TestNoSecrets(t *testing.T) {
	var none *Redactor
	for _, r := range []*Redactor{none, {}, New(nil), FromEnv([]string{"A=b"}, nil)} {
		if got := written(t, r, "some text", 2); got != "some text" {
			t.Errorf("Writer wrote %q", got)
		}
		if r.String("some text") != "some text" || r.Any("some text") != "some text" || r.Error(io.EOF) != io.EOF {
			t.Error("text changed")
		}
	}
}
