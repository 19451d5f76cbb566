package report_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rouse/setup"
	"rouse/setup/report"
	"rouse/setup/report/weektest"
)

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
	_, middle, _ := strings.Cut(page.String(), `id="home-1"`)
	for _, q := range weektest.Questions(t, "../..") {
		for form, said := range map[string]string{"text": rows(text.String(), q.Rows), "JSON": keys(t, list[1], q.Keys), "HTML": weektest.Under(middle, q.Heading)} {
			for _, want := range q.Answers {
				if !strings.Contains(said, want) {
					t.Errorf("%s? the %s does not say %q:\n%s", q.Text, form, want, said)
				}
			}
		}
	}
	if p := list[0].Problems; len(p) != 1 || !strings.HasPrefix(p[0], "nothing runs, and what is due is not known: read rouse.yaml: line 1: unknown key") {
		t.Errorf("%q", p)
	}
	if keys := report.Keys(list[1].Memory, 0); !slices.ContainsFunc(keys, func(k report.Key) bool { return k.Key == "plan" && k.How == "added, from http_get 127.0.0.1" }) {
		t.Errorf("the memory does not say where the plan is from: %v", keys)
	}
	if s := list[1]; s.Tally.Cycles != s.Tally.Proven+s.Tally.Claimed+s.Tally.Failed+s.Tally.Idle+s.Tally.Awake+s.Tally.None || s.Attention() != 3 {
		t.Errorf("%+v, %d need a person", s.Tally, s.Attention())
	}
	for _, want := range []string{"Never began: the disk was full", "Killed part-way: the cycle ended without sleeping", "Failed: read the rules: rules.md is empty; over since 20261117_060100"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(weektest.Under(middle, "What failed, and why"), want) {
			t.Errorf("no form says %q", want)
		}
	}
	if d := list[1].Due; len(d) != 2 || d[1].Time.Format("01-02 15:04") != "11-23 06:00" {
		t.Errorf("no slot of the morning is due: %v", d)
	}
	if before, _, _ := strings.Cut(page.String(), `id="home-1"`); strings.Contains(before, "What is due") {
		t.Error("an unknown schedule is told as an empty one")
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
