package page

import (
	"strings"
	"testing"

	"rouse/setup/report/weektest"
)

// TestQuestions: the page of a home answers the ten questions of docs/report.md after a bad week, and has
// within a click what a report can only name: the answer, the plan to undo, the cycle, the diff.
func TestQuestions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	weektest.Lay(t, folder)
	r := serveAt(t, folder, Act, weektest.Now)
	page := r.get("/h/press?since=7d")
	for _, q := range weektest.Questions(t, "..") {
		said := weektest.Under(page, q.Heading)
		for _, answer := range q.Answers {
			if !strings.Contains(said, answer) {
				t.Errorf("%s? the page does not say %q:\n%s", q.Text, answer, said)
			}
		}
	}
	for path, shown := range map[string][]string{
		"/h/press/approvals":              {"sandbox.mode: off", "curl -d @numbers", "policy[0]: commands are mine"},
		"/h/press/cycles/20261115_220100": {"connection refused", "exit 1"},
		"/h/press/cycles/20261121_220100": {"test -s digest.md"},
		"/h/press/cycles/20261117_060100": {"port 9 is refused", "not there"},
		"/h/press/cycles":                 {"20261116_220100"},
		"/h/press/policy":                 {"write_file <code>secrets/k</code>", "secrets/*"},
		"/h/press/cost":                   {"EUR"},
	} {
		if !strings.Contains(page, `href="`+path) {
			t.Errorf("the page does not lead to %s", path)
		}
		want(t, r.get(path), shown...)
	}
	want(t, r.get("/?find=failed"), "1 of 3 homes", "of these need you", "9 messages to you could not be sent", "5 failed</span>")
	want(t, page, `action="/h/press/rewind"`, "20261115_220100", "Show what that changes")
}
