// Package redact takes secrets out of text where the text enters Rouse.
//
// A [Redactor] knows the values of some secrets and puts [REDACTED:NAME] in
// their place. It is used at the doors (the output of a child process, the body
// of an HTTP answer, a model's reply, an error), so that everything behind them
// holds the same clean text.
//
// A value is found wherever it stands, also glued to letters, in these forms:
//
//   - as it is;
//   - in base64, standard and URL alphabet, at each of the three offsets that it
//     can have inside a longer encoded text, with or without padding; of the
//     first and the last byte up to 4 bits can stay, those in base64 characters
//     that they share with a neighbour;
//   - in hexadecimal, lower or upper case;
//   - percent-encoded, as the usual encoders for queries, forms, paths and user
//     names do, hexadecimal digits in lower or upper case;
//   - as the inside of a JSON string, with or without the escapes for HTML, for
//     the slash and for what is not ASCII;
//   - as HTML text;
//   - base64 that was itself percent-encoded or JSON-escaped.
//
// It is exact on these forms and knows no others. Not found are: a part of a
// value, a value reversed or in another case, one with anything inside it (a
// line break of wrapped base64 or of a terminal, an escape sequence, spaces
// between hexadecimal digits), one that is compressed or encrypted, one encoded
// in another way or twice, needless escapes (%61 for a), a number in JSON that a
// program has parsed, and whatever a program computes from it. So redaction
// guards against accidents, not against a program that wants a secret out; that
// one must not be given the secret.
package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// MinLength is the least number of characters of a secret. A shorter value is
// too likely to be part of harmless text, and is left alone.
const MinLength = 8

// Redactor replaces secrets in text. It never changes, and may be used from
// several goroutines. A nil Redactor, and one without secrets, gives everything
// back as it is, at no cost.
type Redactor struct {
	secrets []secret
	matcher func() *matcher // made at first use
}

// New returns a Redactor for secrets, values by name. White space around a value
// is not part of it, and one shorter than [MinLength] is left out. Of several
// names with the same value the text will show the first.
func New(secrets map[string]string) *Redactor {
	return (*Redactor)(nil).And(secrets)
}

// FromEnv returns a Redactor for those variables of environ, which has the form
// of [os.Environ], that are listed in names, and for each that [IsSecretName]
// knows.
func FromEnv(environ, names []string) *Redactor {
	var list []secret
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if IsSecretName(name) || slices.Contains(names, name) {
			list = appendSecret(list, name, value)
		}
	}
	return newRedactor(list)
}

// IsSecretName reports whether a variable holds a secret by its name: API_KEY,
// TOKEN, SECRET or PASSWORD, alone or after an underscore at its end, in upper or
// lower case.
func IsSecretName(name string) bool {
	name = "_" + strings.ToUpper(name)
	endings := []string{"_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"}
	return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) })
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	if r.free() || len(s) < MinLength {
		return s
	}
	out, done := r.matcher().replace(nil, s, 0, len(s))
	if out == nil {
		return s
	}
	return string(append(out, s[done:]...))
}

func (r *Redactor) free() bool { return r == nil || r.matcher == nil }

type secret struct{ name, value string }

func appendSecret(list []secret, name, value string) []secret {
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) < MinLength {
		return list
	}
	return append(list, secret{name, value})
}

func newRedactor(list []secret) *Redactor {
	if len(list) == 0 {
		return &Redactor{}
	}
	return &Redactor{list, sync.OnceValue(func() *matcher { return newMatcher(list) })}
}

// And returns a Redactor for further secrets, values by name, beside those of r.
func (r *Redactor) And(secrets map[string]string) *Redactor {
	var list []secret
	if r != nil {
		list = slices.Clone(r.secrets)
	}
	for name, value := range secrets {
		list = appendSecret(list, name, value)
	}
	return newRedactor(list)
}

// view is b as a string, without a copy. It must not outlive the next change
// of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
