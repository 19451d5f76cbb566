// Package text makes text of others fit for one place in a message of ours.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes a text one line of at most limit characters, so that it cannot
// forge another record: line breaks and what a terminal would obey are escaped,
// and a cut is marked.
func Line(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteRune('…')
			break
		}
		n++
		b.WriteString(escape(r))
	}
	return b.String()
}

// Block is a text whose lines stay, and its tabs: what else a terminal would obey
// is escaped as in [Line].
func Block(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// Obeyed says whether a terminal, an editor or a file of lines would obey a
// character of the text instead of showing it: a control character, a line break,
// or one that turns the direction of writing.
func Obeyed(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
	})
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r == ' ' || unicode.IsPrint(r):
		return string(r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Words makes a text one line of its words: white space, and what is not for
// printing, becomes one space between them, and bytes that are no text U+FFFD.
func Words(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

// Cut is at most the first limit characters of a text, and an ellipsis where
// there were more.
func Cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	if limit < 0 {
		return ""
	}
	return string([]rune(s)[:limit]) + "…"
}

// Brief is a text as one line of at most limit characters: [Words], and then [Cut].
func Brief(s string, limit int) string { return Cut(Words(s), limit) }

// CutBytes is [Cut] by bytes, of which whole characters are kept.
func CutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Tail is at most the last limit bytes of a text, in whole characters, behind an
// ellipsis where there were more.
func Tail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-limit:], "")
}

// Middle leaves out the middle of a text of more than limit characters, and says
// how much that was.
func Middle(s string, limit int) string {
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s
	}
	r := []rune(s)
	return fmt.Sprintf("%s\n… %d characters left out\n%s", string(r[:limit/2]), n-limit, string(r[n-limit/2:]))
}

// Quoted is a word as a shell wants it.
func Quoted(word string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./~-"
	if word != "" && word[0] != '-' && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Count is a number with its noun, of which the plural ends in s.
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Join is a text of each element of a list, with a separator between them.
func Join[T any](list []T, separator string, of func(T) string) string {
	texts := make([]string, 0, len(list))
	for _, e := range list {
		texts = append(texts, of(e))
	}
	return strings.Join(texts, separator)
}
