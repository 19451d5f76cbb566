package page

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rouse/journal"
)

// inForm is what a field of a form holds.
func inForm(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)` + pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, text)
	}
	return html.UnescapeString(m[1])
}

const seenField, textField = `name="seen" value="(\w*)"`, `<textarea id="text"[^>]*>\n(.*?)</textarea>`

// TestEdit: an edit of the memory is one by hand, of the memory that was shown; what is not
// saved is kept in the form.
func TestEdit(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 1)
	dir := filepath.Join(folder, "h")
	r, looker := serve(t, folder, Act), serve(t, folder, View)
	active := filepath.Join(dir, "scratchpad", "active.yaml")
	read := func() string {
		text, err := os.ReadFile(active)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if code, _ := looker.ask(http.MethodGet, "/h/h/edit", nil); code != http.StatusForbidden {
		t.Errorf("who may only look: %d", code)
	}
	page := r.get("/h/h/edit")
	seen, shown := inForm(t, page, seenField), inForm(t, page, textField)
	if shown != read() {
		t.Errorf("shown %q, it is %q", shown, read())
	}
	press := func(text, seen string) (int, string) {
		return r.ask(http.MethodPost, "/h/h/edit", url.Values{"text": {strings.ReplaceAll(text, "\n", "\r\n")}, "seen": {seen}})
	}
	for text, want := range map[string]string{"goals: []\nnotes: [\n": "line 2", "goals: <b>\n\u202eseen: 1\n\tx": "line", "- a\n": "mapping"} {
		code, page := press(text, seen)
		if got := inForm(t, page, textField); code != http.StatusBadRequest || !strings.Contains(page, "Not saved") || !strings.Contains(page, want) || got != text || read() != shown {
			t.Errorf("%q: %d, typed %q: %s", text, code, got, page)
		}
	}
	theirs := shown + "by: somebody else\n"
	if err := os.WriteFile(active, []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	mine := "# mine\n" + shown + "by: me\n"
	code, page := press(mine, seen)
	if code != http.StatusConflict || !strings.Contains(page, "by: somebody else") || inForm(t, page, textField) != mine || read() != theirs {
		t.Errorf("over another's: %d %s", code, page)
	}
	if code, page := press(mine, inForm(t, page, seenField)); code != http.StatusOK || !strings.Contains(page, "the memory is saved") {
		t.Errorf("once more: %d %s", code, page)
	}
	if text := read(); !strings.HasPrefix(text, "# mine\n") || !strings.Contains(text, "by: me\n") || strings.Contains(text, "\r") {
		t.Errorf("saved %q", text)
	}
	h := wake(t, dir).Home
	id, err := h.Newest()
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for e, err := range journal.Read(h.Journal(id)) {
		if d, ok := e.Data.(*journal.Changed); ok && err == nil {
			found += d.String()
		}
	}
	if !strings.Contains(found, "active.yaml") || !strings.Contains(found, "by") {
		t.Errorf("the next cycle has found %q", found)
	}
}

// TestRewind: what was shown is what is done, and undone.
func TestRewind(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 1)
	dir := filepath.Join(folder, "h")
	r := serve(t, folder, Act)
	s := wake(t, dir)
	id, err := s.Home.Newest()
	if err != nil {
		t.Fatal(err)
	}
	memory := func() string {
		state, _, err := s.Home.Load()
		if err != nil {
			t.Fatal(err)
		}
		return state.Notes()
	}
	was := memory()
	press := func(form url.Values, want int) string {
		code, page := r.ask(http.MethodPost, "/h/h/rewind", form)
		if code != want {
			t.Fatalf("%v: %d %s", form, code, page)
		}
		return page
	}
	page := press(url.Values{"cycle": {id}}, 200)
	if memory() != was || !strings.Contains(page, "notes") {
		t.Errorf("to look at it did it: %s", page)
	}
	press(url.Values{"cycle": {id}, "seen": {"0"}}, 409)
	press(url.Values{"cycle": {"../" + id}}, 404)
	press(url.Values{"undo": {"yes"}}, 422) // nothing was rewound yet
	unlock, err := s.Home.Lock()
	if err != nil {
		t.Fatal(err)
	}
	press(url.Values{"cycle": {id}}, 409)
	unlock()
	page = press(url.Values{"cycle": {id}, "seen": {inForm(t, page, seenField)}}, 200)
	if memory() == was || !strings.Contains(page, "put back to what was before cycle "+id) {
		t.Errorf("%s", page)
	}
	if !strings.Contains(r.get("/h/h"), "Show what undoes the last rewind") {
		t.Error("there is a rewind to undo, and no button for it")
	}
	page = press(url.Values{"undo": {"yes"}}, 200)
	press(url.Values{"undo": {"yes"}, "seen": {inForm(t, page, seenField)}}, 200)
	if memory() != was {
		t.Error("it is not undone")
	}
}
