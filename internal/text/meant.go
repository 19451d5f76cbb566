package text

import "strings"

// Meant ends a message about a word that is not known: with the one of known that was
// most likely meant, or with nothing.
func Meant(word string, known []string) string {
	best, least := "", 1+max(1, len(word)/3)
	word = strings.ToLower(word)
	for _, k := range known {
		n := edits(word, k)
		if len(word) > 3 && strings.Contains(k, word) {
			n = min(n, least-1)
		}
		if n < least || n == least && best != "" && same(word, k) > same(word, best) {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// same is how many letters two words begin with alike.
func same(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// edits is how many letters are added, left out, changed or changed over with the next
// one to make a word of another.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			case i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]:
				rows[i][j] = 1 + rows[i-2][j-2]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
		}
	}
	return rows[len(a)][len(b)]
}
