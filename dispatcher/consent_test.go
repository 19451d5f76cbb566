package dispatcher

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rouse/dispatcher/policy"
	"rouse/tools"
	"rouse/tools/web"
)

// A redirect is judged as a call of its own, and is followed where it needs no other answer.
func TestRedirectJudged(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if asked = append(asked, req.URL.Path); strings.HasPrefix(req.URL.Path, "/to-") {
			http.Redirect(w, req, "/"+req.URL.Path[4:], http.StatusFound)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	set, err := tools.NewSet(web.Get(web.Options{Allow: []string{host}}))
	if err != nil {
		t.Fatal(err)
	}
	d, _ := newDispatcher(t, "")
	p := policy.Policy{Rules: []policy.Rule{{Match: map[string]string{"url": "*/denied"}, Do: policy.Deny}, {Match: map[string]string{"url": "*/asked"}, Do: policy.Ask}}}
	d.Tools, d.Decide = set, func(_ tools.Tool, c policy.Call) policy.Decision { return p.Decide(c) }
	for to, want := range map[string]string{"there": "", "asked": "not followed (policy[1])", "denied": "not followed (policy[0])"} {
		if o := do(t, d, "http_get", `{"url":"`+server.URL+`/to-`+to+`"}`); o.OK != (want == "") || !strings.Contains(o.Error, want) {
			t.Errorf("%s: %+v", to, o)
		}
	}
	if got := strings.Join(asked, " "); strings.Contains(got, "/denied") || strings.Contains(got, "/asked") {
		t.Error(got)
	}
}
