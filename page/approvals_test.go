package page

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/agent/approval"
)

// TestApprovals: of two who answer at once one is first and the other is told who; what
// expired, was answered or is another call by now is not answered, and nothing is hidden.
func TestApprovals(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 1)
	r, looker := serve(t, folder, Act), serve(t, folder, View)
	s, err := open(filepath.Join(folder, "h"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Answers(); err != nil {
		t.Skip(err)
	}
	park := func(args string, expire time.Duration) string {
		f := s.Approvals()
		f.Expire = expire
		id, err := f.Park(approval.Entry{Cycle: "20260401_150154", Tool: "shell", Args: args, Rule: "policy[0]: mine", Said: "go\u202eon", Origin: []string{"http_get evil.example"}, Read: []string{"http_get(…)"}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	both, edited, old := park(`{"command":"<script>alert(1)</script>"}`, time.Hour), park(`{"command":"git push"}`, time.Hour), park(`{"command":"late"}`, -time.Hour)
	text := r.get("/h/h/approvals")
	for _, want := range []string{"&lt;script&gt;alert(1)", `go\u202eon`, "http_get evil.example", "policy[0]: mine", `<span class="badge">expired</span>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if look := looker.get("/h/h/approvals"); strings.Contains(look, ">Approve<") || !strings.Contains(look, "git push") {
		t.Error("who may only look may answer", look)
	}
	seen := func(id string) string {
		m := regexp.MustCompile(`approvals/` + id + `"[^>]*>\s*<input type="hidden" name="seen" value="(\w+)"`).FindStringSubmatch(text)
		if m == nil {
			return "x"
		}
		return m[1]
	}
	answer := func(id, decision string) (int, string) {
		return r.ask(http.MethodPost, "/h/h/approvals/"+id, url.Values{"decision": {decision}, "seen": {seen(id)}, "why": {"as I said"}})
	}
	path := s.Home.Approvals()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(before), "git push", "git push -f")), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{edited: "another call than the one that you were shown", old: "is expired", "nope": "there is no call"} {
		if code, text := answer(id, approval.Approve); code != http.StatusConflict || !strings.Contains(text, want) {
			t.Errorf("%s: %d, want %q in %s", id, code, want, text)
		}
	}
	if code, _ := r.ask(http.MethodPost, "/h/h/approvals/"+both, url.Values{"decision": {"approve"}}); code != http.StatusBadRequest {
		t.Errorf("nobody was shown it: %d", code)
	}
	var wg sync.WaitGroup
	codes, texts := make([]int, 2), make([]string, 2)
	for i, decision := range []string{approval.Approve, approval.Deny} {
		wg.Go(func() { codes[i], texts[i] = answer(both, decision) })
	}
	wg.Wait()
	lost := texts[0]
	if codes[0] == http.StatusOK {
		lost = texts[1]
	}
	if codes[0]+codes[1] != http.StatusOK+http.StatusConflict || !regexp.MustCompile(both+` has an answer already: (approve|deny) by page \w+ as \S+ at `).MatchString(lost) {
		t.Error(codes, lost)
	}
	if text := r.get("/h/h/approvals"); !strings.Contains(text, "as I said") || !strings.Contains(text, "edited since it was asked") || !strings.Contains(text, ">1 to answer<") {
		t.Error(text)
	}
	for _, decision := range []string{approval.Approve, approval.Deny} {
		want(t, r.get("/h/h/acts"), `<td data-is="What">`+decision+" "+both)
	}
	want(t, r.get("/h/h"), `<a href="/h/h/approvals">1 call waits for your yes: answer it</a>`)
}

// TestApprovalsWithoutWalls: where a tool could write the answer there is no button for one,
// and none is taken; page and refusal say what would mend that.
func TestApprovalsWithoutWalls(t *testing.T) {
	t.Parallel()
	folder := ran(t, "h", 0)
	if err := os.WriteFile(filepath.Join(folder, "h", "rouse.yaml"), []byte("posture: careful\nsandbox: {mode: off}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(filepath.Join(folder, "h"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Approvals().Park(approval.Entry{Tool: "shell", Args: `{}`})
	if err != nil {
		t.Fatal(err)
	}
	r, want := serve(t, folder, Act), "no answer is taken: no wall keeps tools from the answers; for walls write posture: careful into rouse.yaml"
	if text := r.get("/h/h/approvals"); strings.Contains(text, ">Approve<") || strings.Contains(text, "The next cycle carries out") || !strings.Contains(text, want) {
		t.Error(text)
	}
	for _, decision := range []string{approval.Approve, approval.Deny} {
		if code, text := r.ask(http.MethodPost, "/h/h/approvals/"+id, url.Values{"decision": {decision}, "seen": {"x"}}); code != http.StatusConflict || !strings.Contains(text, want) {
			t.Errorf("%s: %d, %s", decision, code, text)
		}
	}
}
