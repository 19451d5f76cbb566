package weektest

import (
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Question is one of docs/report.md: where the forms of the report answer it, and what must be said there.
type Question struct {
	Text, Rows, Keys, Heading string
	Answers                   []string
}

// Questions are the ten, asked about [Press]. Root leads to docs.
func Questions(t testing.TB, root string) (list []Question) {
	t.Helper()
	answers := [][]string{
		{"20261122_060100", "20261116_220100", "20261121_050100"},
		{"connection refused", "rules.md is empty", "the disk was full", "test -s digest.md: exit code 1", "the cycle ended without sleeping", "20261117_060100"},
		{"plan in the memory holds text from http_get 127.0.0.1", "rules.md was removed or emptied", "http_get 127.0.0.1"},
		{"plan", "obey ", "the digest of Sunday"},
		{"half.txt", "from outside"},
		{"3150", "0.253", "EUR", "day_money"},
		{"slots were missed", "9 messages could not be sent to command false: exit code 1; see notify", "rouse approvals approve ", "curl -d @numbers"},
		{"http://127.0.0.1:9/admin", "port 9 is refused", "secrets/k", "denies it: not there", "waits for the operator's yes", "127.0.0.1"},
		{"write the digest"},
		{"20261115_220100"},
	}
	docs, err := os.ReadFile(root + "/docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range regexp.MustCompile(`(?m)^\| (.*)\? \| (.*) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(string(docs), -1) {
		list = append(list, Question{m[1], m[2], m[3], m[4], answers[min(i, len(answers)-1)]})
	}
	if len(list) != len(answers) {
		t.Fatalf("%d questions", len(list))
	}
	return list
}

// Under is the text of a page below a heading.
func Under(page, heading string) string {
	_, page, _ = strings.Cut(page, "<h3>"+heading+"</h3>")
	page = regexp.MustCompile(`<h[23]`).Split(page, 2)[0]
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
}
