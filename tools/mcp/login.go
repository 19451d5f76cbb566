package mcp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"rouse/internal/clock"
	"rouse/internal/loopback"
	"rouse/internal/redact"
	"rouse/internal/text"
)

// Login is what logging in at a server gave, by fields: url, the server that it is for, as its
// tokens go nowhere else; access_token, refresh_token and expires, the moment at which they
// are renewed; client_id, client_secret, endpoint, style and resource, with which that is done.
type Login map[string]string

// Logins keeps the logins of a home, which are secrets. Load gives that of a server, none where
// there is none; Change changes it while no other process does, and not on an error of f.
type Logins struct {
	Load   func(server string) (Login, error)
	Change func(server string, f func(Login) (Login, error)) error
}

// loginError means that a person has to log in at a server.
type loginError struct{ server, why, scope string }

func (e *loginError) Error() string {
	said := e.why + "; run: rouse mcp login " + text.Quoted(e.server)
	if e.scope != "" {
		said += " --scope " + text.Quoted(e.scope)
	}
	return said
}

// keys are the tokens for one server, renewed as they expire: never by asking anybody.
type keys struct {
	server, url string
	logins      *Logins
	now         func() time.Time

	mu    sync.Mutex
	login Login                      // nil before it was looked for
	had   map[string]string          // all tokens that there ever were, to be hidden
	bar   atomic.Pointer[loginError] // why a request was not taken, the last time
}

// token is the one to send in place of one that was refused, if any: "" without a login.
func (k *keys) token(ctx context.Context, refused string) (string, error) {
	if k == nil || k.logins == nil {
		return "", nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.login == nil {
		login, err := k.logins.Load(k.server)
		if err != nil {
			return "", err
		}
		k.take(login)
	}
	expires, never := time.Parse(time.RFC3339, k.login["expires"])
	now := k.login["access_token"]
	if now == "" || now != refused && (never != nil || expires.After(clock.Now(k.now))) {
		return now, nil
	}
	err := k.logins.Change(k.server, func(l Login) (_ Login, err error) {
		if l["access_token"] == now && l["url"] == k.url { // else another process was here
			l, err = k.renewed(ctx, l)
		}
		k.take(l)
		return l, err
	})
	return k.login["access_token"], err
}

// take takes a login in, if it is for the server.
func (k *keys) take(l Login) {
	if k.login = (Login{}); l["url"] == k.url {
		k.login = l
	}
	if k.had == nil {
		k.had = map[string]string{}
	}
	for _, field := range []string{"access_token", "refresh_token", "client_secret"} {
		k.had[fmt.Sprintf("mcp:%s:token %d", k.server, len(k.had))] = k.login[field]
	}
}

// renewed is a login with new tokens. Other processes wait meanwhile, not for long.
func (k *keys) renewed(ctx context.Context, l Login) (Login, error) {
	style, _ := strconv.Atoi(l["style"]) // else it is found out
	c := oauth2.Config{ClientID: l["client_id"], ClientSecret: l["client_secret"], Endpoint: oauth2.Endpoint{TokenURL: l["endpoint"], AuthStyle: oauth2.AuthStyle(style)}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: errand{k.url, Transport()}, Timeout: 8 * time.Second})
	with := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", l["refresh_token"])}
	if l["resource"] != "" { // a TokenSource would leave it out
		with = append(with, oauth2.SetAuthURLParam("resource", l["resource"]))
	}
	t, err := c.Exchange(ctx, "", with...)
	refused, said := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case l["refresh_token"] == "":
		return l, &loginError{k.server, "its login is over", ""}
	case said && over(refused.Response.StatusCode, refused.ErrorCode):
		return l, &loginError{k.server, fmt.Sprintf("its login is over (%s)", text.Brief(cmp.Or(refused.ErrorCode, refused.Response.Status), 60)), ""}
	case err != nil:
		return l, fmt.Errorf("its token cannot be renewed now: %w", err)
	}
	return loginOf(l["url"], l["resource"], &c, t, clock.Now(k.now)), nil
}

// over says that tokens are renewed no more: not with an answer that means later, or is of
// somebody who stands between.
func over(status int, code string) bool {
	return status < 500 && status != http.StatusTooManyRequests && (code != "" || status <= http.StatusUnauthorized) && code != "temporarily_unavailable"
}

// loginOf is a login of tokens that came now. They are renewed a minute before they end, or
// in their last quarter.
func loginOf(url, resource string, c *oauth2.Config, t *oauth2.Token, now time.Time) Login {
	l := Login{
		"url": url, "access_token": t.AccessToken, "refresh_token": t.RefreshToken, "client_id": c.ClientID, "client_secret": c.ClientSecret,
		"endpoint": c.Endpoint.TokenURL, "style": strconv.Itoa(int(c.Endpoint.AuthStyle)), "resource": resource,
	}
	if !t.Expiry.IsZero() {
		left := time.Until(t.Expiry)
		l["expires"] = now.Add(left - min(left/4, time.Minute)).UTC().Format(time.RFC3339)
	}
	return l
}

// hide adds the tokens to what is hidden: one that was renewed in this cycle nobody else knows.
func (k *keys) hide(r *redact.Redactor) *redact.Redactor {
	if k == nil {
		return r
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return r.And(k.had)
}

// barred marks what keeps a request from being taken, so that it has no effect.
func (k *keys) barred(err error) error {
	if e, ok := errors.AsType[*loginError](err); ok {
		k.bar.Store(e)
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}

// why is why a connection failed, and forgets what was before: after an answer that wants a
// login the library goes on, in an older protocol.
func (k *keys) why(err error) error {
	if k == nil {
		return err
	}
	if bar := k.bar.Swap(nil); bar != nil && err != nil {
		return bar
	}
	return err
}

// OAuth is what an entry says of logging in: as whom, and where the browser comes back.
type OAuth struct {
	ClientID       string `json:"clientId"`
	ClientSecret   string `json:"clientSecret"`
	ClientMetadata string `json:"clientMetadataUrl"`
	CallbackPort   int    `json:"callbackPort"`
}

func (a *OAuth) read(raw []byte, x *expander) error {
	if len(raw) > 0 && json.Unmarshal(raw, a) != nil {
		return errors.New(`oauth: write {"clientId": "…", "clientSecret": "${NAME}", "callbackPort": 3118}, each if need be`)
	}
	a.ClientID, a.ClientSecret, a.ClientMetadata = x.text(a.ClientID), x.text(a.ClientSecret), x.text(a.ClientMetadata)
	return nil
}

// authorized says that the headers of an entry say who we are.
func (s Server) authorized() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.Headers)), func(name string) bool { return strings.EqualFold(name, "Authorization") })
}

// Visit is how a person logs in: Show shows the address to be opened in a browser, Pasted has,
// in a line, where that was sent back to, and Scopes are asked for beside those of the server.
type Visit struct {
	Show   func(address string)
	Pasted io.Reader
	Scopes []string
}

// LogIn has a person log in at a server. It gives no login if the server wants none.
func LogIn(ctx context.Context, s Server, o Options, visit Visit) (login Login, tools int, err error) {
	if s.URL == "" || s.authorized() || s.Problem != "" {
		return nil, 0, errors.New(cmp.Or(s.Problem, "only a server with a url takes a login, and only if its headers in .mcp.json have no Authorization"))
	}
	back, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.OAuth.CallbackPort))
	if err != nil {
		return nil, 0, fmt.Errorf("wait for the browser: %w", err)
	}
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	came, c := visit.begin(ctx, back), s.authorization(back.Addr().(*net.TCPAddr).Port, visit.Scopes)
	resource := ""
	c.AuthorizationCodeFetcher = func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		asked, err := url.Parse(a.URL)
		if err != nil {
			return nil, err
		}
		resource = asked.Query().Get("resource")
		visit.Show(shown(a.URL))
		return brought(ctx, came, asked.Query().Get("state"))
	}
	c.NewTokenSource = func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
		login = loginOf(s.URL, resource, c, t, clock.Now(o.Now))
		return oauth2.StaticTokenSource(t), nil
	}
	srv := &server{Server: s, o: o.complete(), ctx: ctx, keys: &keys{}}
	h, err := auth.NewAuthorizationCodeHandler(c)
	if err != nil {
		return nil, 0, err
	}
	srv.oauth = once{h, func(resp *http.Response, err error) error {
		if err == nil && login != nil && resp.StatusCode == http.StatusUnauthorized {
			err = errors.New("the server does not take the token that it had us fetch")
		}
		if err != nil {
			give(errors.New(srv.clean(err)))
		}
		return err
	}}
	srv.StartTimeout = time.Hour
	defer srv.close()
	err = srv.connect(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && cause != context.Canceled { // without the library's way to it
		err = cause
	}
	if err != nil && strings.Contains(err.Error(), "register client") {
		err = fmt.Errorf("%s; register Rouse there yourself, and name its clientId under oauth in .mcp.json", strings.TrimRight(err.Error(), ": "))
	}
	return login, len(srv.offered), err
}

// once is a login that is over with its first error: the library would ask again.
type once struct {
	*auth.AuthorizationCodeHandler
	over func(*http.Response, error) error
}

// Authorize has a person log in.
func (o once) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	if err := o.over(resp, nil); err != nil {
		return err
	}
	return o.over(&http.Response{}, o.AuthorizationCodeHandler.Authorize(ctx, r, resp))
}

// brought waits for what the browser brings back to what was asked with that state. All else is
// from others: any page and program of this machine can come to where we listen.
func brought(ctx context.Context, came chan url.Values, state string) (*auth.AuthorizationResult, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case q := <-came:
			if code := q.Get("error"); q.Get("state") != state {
				continue
			} else if code != "" {
				return nil, fmt.Errorf("it was refused: %s", text.Brief(code+" "+q.Get("error_description"), 300))
			}
			return &auth.AuthorizationResult{Code: q.Get("code"), State: state, Iss: q.Get("iss")}, nil
		}
	}
}

// shown is an address in which a terminal finds nothing to obey.
func shown(address string) string {
	var b strings.Builder
	for _, c := range []byte(address) {
		if c <= ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// errand takes requests to where a server says that one logs in: what is sent there goes to no
// other address, and a server elsewhere does not send us to programs of this machine.
type errand struct {
	server string
	next   http.RoundTripper
}

func (e errand) RoundTrip(r *http.Request) (*http.Response, error) {
	if u, err := url.Parse(e.server); err != nil || loopback.Is(r.URL.Host) && !loopback.Is(u.Host) {
		return nil, fmt.Errorf("the server sends us to %s, which is this machine", r.URL.Host)
	}
	resp, err := e.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && resp.StatusCode/100 == 3 {
		resp.Body.Close()
		return nil, fmt.Errorf("%s redirects, which is not followed", r.URL.Host)
	}
	return resp, err
}

// authorization is how a login is asked for.
func (s Server) authorization(port int, scopes []string) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: fmt.Sprintf("http://localhost:%d/callback", port), RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		Client:      &http.Client{Transport: errand{s.URL, Transport()}, Timeout: time.Minute},
		ScopeFilter: func(found []string) []string { return append(slices.Clone(found), scopes...) },
	}
	c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		ClientName: "Rouse", RedirectURIs: []string{c.RedirectURL}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}}
	if s.OAuth.ClientMetadata != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.OAuth.ClientMetadata}
	}
	if s.OAuth.ClientID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.OAuth.ClientID}
	}
	if s.OAuth.ClientSecret != "" && c.PreregisteredClient != nil {
		c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: s.OAuth.ClientSecret}
	}
	return c
}

// begin waits, as long as ctx, for the browser to come back, or for somebody to say where to.
func (v Visit) begin(ctx context.Context, back net.Listener) chan url.Values {
	came := make(chan url.Values)
	say := func(q url.Values) {
		if q.Has("code") || q.Has("error") {
			select {
			case came <- q:
			case <-ctx.Done():
			}
		}
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			say(r.URL.Query())
		}
		io.WriteString(w, "You can close this page; the terminal says what came of it.\n")
	})}
	go server.Serve(back)
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		for lines := bufio.NewScanner(v.Pasted); lines.Scan(); {
			if u, err := url.Parse(strings.TrimSpace(lines.Text())); err == nil {
				say(u.Query())
			}
		}
	}()
	return came
}
