package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"rouse/tools/mcp/mcptest"
)

// stranger is what programs and pages of the machine send to where we wait.
const stranger = "?code=theirs&state=theirs ?error=access_denied"

func TestLogInAtHostileServers(t *testing.T) {
	for name, c := range map[string]struct {
		path, says string // what one address of the server answers: a status and a body, or where it sends us
		fails      string
	}{
		"strangers come first":            {"", "", ""},
		"an address that terminals obey":  {"/.well-known/oauth-authorization-server", `200 {"issuer": "BASE", "authorization_endpoint": "BASE/authorize?x=` + "\u009b2J\u202e" + `", "token_endpoint": "BASE/token", "registration_endpoint": "BASE/register", "code_challenge_methods_supported": ["S256"]}`, ""},
		"metadata of another":             {"/.well-known/oauth-authorization-server", `200 {"issuer": "https://evil.example", "code_challenge_methods_supported": ["S256"]}`, "failed to get authorization server metadata: metadata issuer"},
		"a code that is not taken":        {"/token", `400 {"error": "invalid_grant"}`, `token exchange failed: oauth2: "invalid_grant"`},
		"a code that is sent elsewhere":   {"/token", "307 BASE/steal", "redirects, which is not followed"},
		"a token that is not taken":       {"/mcp", "401 no", "does not take the token that it had us fetch"},
		"a registration that is redirect": {"/register", "307 BASE/steal", "redirects, which is not followed"},
		"a registration for nobody":       {"/register", "401 ", "with status 401 Unauthorized; register Rouse there yourself, and name its clientId"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, stolen := &mcptest.OAuth{}, false
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if stolen = stolen || r.URL.Path == "/steal"; r.URL.Path != c.path {
					o.ServeHTTP(w, r)
					return
				}
				says(c.says).ServeHTTP(w, r)
			}))
			defer h.Close()
			shown := 0
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			_, _, err := LogIn(ctx, Server{Name: "s", URL: h.URL + "/mcp"}, Options{Pins: t.TempDir() + "/pins"}, Visit{Pasted: strings.NewReader(""), Show: func(address string) {
				if shown++; strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
					t.Errorf("%q is shown", address)
				}
				go visit(address)
			}})
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "rejected by")) || shown > 1 || stolen {
				t.Errorf("shown %d times, stolen %v: %v", shown, stolen, err)
			}
		})
	}
}

// says answers with a status and a body, which is also where it sends us.
type says string

func (s says) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body, _ := strings.Cut(strings.ReplaceAll(string(s), "BASE", "http://"+r.Host), " ")
	code, _ := strconv.Atoi(status)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", body)
	w.WriteHeader(code)
	io.WriteString(w, body)
}

// visit is a browser whose user logs in, on a machine where others are, too.
func visit(address string) {
	u, _ := url.Parse(address)
	for s := range strings.FieldsSeq(stranger) {
		if resp, err := http.Get(u.Query().Get("redirect_uri") + s); err == nil {
			resp.Body.Close()
		}
	}
	if resp, err := http.Get(address); err == nil {
		resp.Body.Close()
	}
}

func TestErrandsStayAway(t *testing.T) {
	r := httptest.NewRequest("POST", "http://127.0.0.1:8500/register", nil)
	if _, err := (errand{"https://tracker.example/mcp", Transport()}).RoundTrip(r); err == nil || !strings.Contains(err.Error(), "sends us to 127.0.0.1:8500, which is this machine") {
		t.Error(err)
	}
}

// TestShortTokens: one that holds for half a minute is not renewed at each request.
func TestShortTokens(t *testing.T) {
	now := time.Now()
	l := loginOf("u", "u", &oauth2.Config{}, &oauth2.Token{AccessToken: "a", Expiry: now.Add(30 * time.Second)}, now)
	changed := 0
	k := keys{server: "s", url: "u", now: func() time.Time { return now }, logins: &Logins{
		Load: func(string) (Login, error) { return l, nil }, Change: func(string, func(Login) (Login, error)) error { changed++; return nil },
	}}
	for _, later := range []time.Duration{0, 20 * time.Second, 5 * time.Second} {
		now = now.Add(later)
		if token, err := k.token(t.Context(), ""); token != "a" || err != nil {
			t.Error(token, err)
		}
	}
	if changed != 1 {
		t.Errorf("renewed %d times, want once, in the last quarter", changed)
	}
}

// TestOver: who is asked to log in again can do something about it.
func TestOver(t *testing.T) {
	for text, over := range map[string]bool{
		`400 {"error": "invalid_grant"}`: true, `200 {"error": "bad_refresh_token"}`: true, `403 {"error": "access_denied"}`: true, "401 no": true,
		"429 slow down": false, "403 <html>log in at this hotel": false, "503 no": false, `400 {"error": "temporarily_unavailable"}`: false,
	} {
		h := httptest.NewServer(says(text))
		k := keys{server: "s", url: h.URL}
		_, err := k.renewed(t.Context(), Login{"url": h.URL, "refresh_token": "r", "endpoint": h.URL, "style": "1"})
		h.Close()
		if _, asks := errors.AsType[*loginError](err); err == nil || asks != over {
			t.Errorf("%s: %v", text, err)
		}
	}
}
