// Package text makes text of others fit for one place in a message of ours.
package text

import (
	"fmt"
	"strings"
	"unicode"
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
