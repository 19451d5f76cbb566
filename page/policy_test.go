package page

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/home"
)

// TestPolicy says what holds, and lets tools at a host by a button that keeps all else of rouse.yaml.
func TestPolicy(t *testing.T) {
	t.Parallel()
	folder := ran(t, "a", 1)
	config := filepath.Join(folder, "a", "rouse.yaml")
	write(t, config, "# mine\nposture: careful\nsandbox: {network: listed, hosts: [a.example]} # hosts\npolicy:\n- {tool: shell, match: {command: 'git push*'}, do: deny, why: <b>no pushing</b>}\n")
	r := serve(t, folder, Act)
	for _, want := range []string{"The sandbox refused nothing", "posture careful:", "&lt;b&gt;no pushing", "<td>a.example</td>", ">deny<"} {
		if page := r.get("/h/a/policy"); !strings.Contains(page, want) {
			t.Errorf("without %q: %s", want, page)
		}
	}
	h, err := home.Open(filepath.Join(folder, "a"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, h.Journal(time.Now().Add(-time.Hour).Format(home.CycleForm)), `{"v":1,"seq":1,"event":"result","step":3,"tool":"shell","ok":false,"error":"denied by policy[0]"}
{"v":1,"seq":2,"event":"sleep","outcome":"done","exit":0,"refused":[{"what":"host b.example","count":2},{"what":"read `+h.Config()+`","count":1},{"what":"network","count":1}]}
`)
	page := r.get("/h/a/policy")
	for _, want := range []string{`host b.example</td><td class="number" data-is="How often">2</td><td><form`, "one of the agent", "see sandbox.network"} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q: %s", want, page)
		}
	}
	post := func(r *rig, kind, what string) (int, string) {
		return r.ask(http.MethodPost, "/h/a/policy", url.Values{"kind": {kind}, "what": {what}})
	}
	if code, page := post(r, "host", "b.example"); code != http.StatusOK || !strings.Contains(page, "host b.example is in rouse.yaml now") || !strings.Contains(page, "it has the line sandbox: {network: listed, hosts: [b.example, a.example]} # hosts") {
		t.Errorf("%d %s", code, page)
	}
	if page := r.get("/h/a/policy"); !strings.Contains(page, "it is allowed now") {
		t.Error(page)
	}
	if now, _ := os.ReadFile(config); !strings.HasPrefix(string(now), "# mine\nposture: careful\n") || !strings.Contains(string(now), "# hosts") {
		t.Errorf("%s", now)
	}
	for what, kind := range map[string]string{"relative": "read", "/etc": "everything", folder + "/a/rouse.yaml": "write", "no host": "host"} {
		if code, page := post(r, kind, what); code != http.StatusBadRequest {
			t.Errorf("%s %s: %d %s", kind, what, code, page)
		}
	}
	if code, _ := post(serve(t, folder, View), "host", "c.example"); code != http.StatusForbidden {
		t.Errorf("who may look: %d", code)
	}
}

// TestSearch finds what a cycle did, and leads to it.
func TestSearch(t *testing.T) {
	t.Parallel()
	r := serve(t, ran(t, "a", 1), View)
	for query, want := range map[string]string{
		"": "Search</button>", "?q=hello+rouse&kind=result": `/steps/1">`, "?q=nosuchword%3Cb%3E": "Nothing is found", "?q=demo&kind=x": "use one of", "?q=demo&since=x": "write 36h", "?q=hello&since=1h&kind=task": `>task<`,
	} {
		if page := r.get("/h/a/search" + query); !strings.Contains(page, want) || strings.Contains(page, "<b>") {
			t.Errorf("%s lacks %q: %s", query, want, page)
		}
	}
}
