package search

import (
	"fmt"
	"strings"
	"unicode"

	"rouse/internal/text"
)

// Bounds of a query.
const (
	maxQuery = 4 << 10 // bytes
	maxWords = 32
)

// expression is a query in the syntax of FTS5, in which nothing of it is taken for
// syntax: words, of which the longer ones also find what begins with them, and phrases
// between quotes, found as they stand. A word with signs in it, such as a path, is a phrase.
func expression(query string, any bool) (string, error) {
	if len(query) > maxQuery {
		return "", &QueryError{fmt.Sprintf("%d bytes are too much to look for, at most %d", len(query), maxQuery)}
	}
	var list []string
	for i, part := range strings.Split(text.Words(query), `"`) {
		words := []string{part}
		if i%2 == 0 {
			words = strings.Fields(part)
		}
		for _, word := range words {
			if !strings.ContainsFunc(word, isLetter) {
				continue
			}
			term := `"` + word + `"`
			if i%2 == 0 && (len([]rune(word)) > 2 || strings.HasSuffix(word, "*")) {
				term += "*"
			}
			list = append(list, term)
		}
	}
	switch {
	case len(list) == 0:
		return "", &QueryError{fmt.Sprintf("there is no word in %q: write letters or digits", text.Cut(query, 40))}
	case len(list) > maxWords:
		return "", &QueryError{fmt.Sprintf("%d words are too many to look for, at most %d", len(list), maxWords)}
	case any:
		return strings.Join(list, " OR "), nil
	}
	return strings.Join(list, " AND "), nil
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
