package report_test

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"rouse/setup"
	"rouse/setup/report"
	"rouse/setup/report/weektest"
)

// answers are what must be said to each question of docs/report.md, in every form.
var answers = [][]string{
	{"20261122_060100", "20261116_220100", "20261121_050100"},
	{"connection refused", "rules.md is empty", "the disk was full", "test -s digest.md: exit code 1", "the cycle ended without sleeping"},
	{"rules.md was removed or emptied", "http_get 127.0.0.1"},
	{"plan", "obey ", "the digest of Sunday"},
	{"half.txt", "from outside"},
	{"3150", "0.253", "EUR", "day_money"},
	{"slots were missed", "9 messages did not arrive at command false", "rouse approvals approve ", "curl -d @numbers"},
	{"port 9 is refused", "denies it: not there", "waits for the operator's yes", "127.0.0.1"},
	{"write the digest"},
	{"20261115_220100"},
}

// TestWeek asks the ten questions after a bad week, of each form of the report.
func TestWeek(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	weektest.Lay(t, dir)
	homes, err := report.Homes([]string{dir}, setup.Process{Now: weektest.Now})
	if err != nil {
		t.Fatal(err)
	}
	list, err := report.Of(homes, "7d")
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	var text, page bytes.Buffer
	list[1].Text(&text, nil)
	if err := report.HTML(&page, list); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	questions := regexp.MustCompile(`(?m)^\| (.*)\? \| (.*) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(string(docs), -1)
	if len(questions) != len(answers) {
		t.Fatalf("%d questions", len(questions))
	}
	for i, q := range questions {
		for form, said := range map[string]string{"text": rows(text.String(), q[2]), "JSON": keys(t, list[1], q[3]), "HTML": section(page.String(), q[4])} {
			for _, want := range answers[i] {
				if !strings.Contains(said, want) {
					t.Errorf("%s? the %s does not say %q:\n%s", q[1], form, want, said)
				}
			}
		}
	}
	if p := list[0].Problems; len(p) != 1 || !strings.Contains(p[0], `unknown key "shedule"`) {
		t.Errorf("%q", p)
	}
	for form, said := range map[string]string{"text": text.String(), "HTML": page.String()} {
		if strings.ContainsAny(said, "\u202e\u202c\x1b") || !strings.Contains(said, `\u202egnp.txt`) {
			t.Errorf("the %s obeys what an agent wrote", form)
		}
	}
	if found := regexp.MustCompile(`<(script|img|iframe|a href="[^#])|(src|onerror)="`).FindString(page.String()); found != "" {
		t.Errorf("the HTML has %s", found)
	}
}

// rows are those of the text with one of the names, in backquotes, and what belongs to them.
func rows(text, names string) (found string) {
	in := false
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, " "); name != "" {
			in = strings.Contains(names, "`"+name+"`")
		}
		if in {
			found += line
		}
	}
	return found
}

// keys are the values of the keys with one of the names.
func keys(t *testing.T, r report.Report, names string) (found string) {
	data, err := json.Marshal(r)
	var all map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range all {
		if strings.Contains(names, "`"+key+"`") {
			found += string(value) + "\n"
		}
	}
	return found
}

// section is the text below a heading of the home in the middle.
func section(page, heading string) string {
	_, page, _ = strings.Cut(page, `id="home-1"`)
	_, page, _ = strings.Cut(page, "<h3>"+heading+"</h3>")
	page, _, _ = strings.Cut(page, "<h3>")
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
}
