// Package remote runs notebooks on another machine: it is the client of package
// serve, and package wire is what they say.
//
// A connection that is lost loses no cell, and runs none twice. Each cell has an
// id; whoever lost the connection asks for the cell of that id and reads on where
// it was. Only if the server is not to be reached for too long, or was restarted
// meanwhile, the outcome is unknown, and is said to be.
//
// What a cell asks a model is asked here, with the client's own key: a question
// comes as an event of the cell's stream, and the answer is posted.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"rouse/internal/clock"
	"rouse/internal/redact"
	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// Client is a connection to a server of notebooks. Set the fields before the
// first use. It is safe for several goroutines.
type Client struct {
	// Endpoint is the server's address, such as https://notebooks.example/team.
	Endpoint string
	Token    string
	// TokenName says in errors where the token is from.
	TokenName string
	// Env is given to cells, as DS_NAME=value; of those named in Secret the values
	// are never saved.
	Env, Secret []string
	// LLM answers cells that ask a model; nil refuses.
	LLM notebook.LLM
	// Redact takes the secrets out of what the server says before it is cut.
	Redact *redact.Redactor
	// HTTP makes the requests; default one that follows no redirects.
	HTTP *http.Client
	// Patience is how long a lost connection is tried again; default 90 seconds.
	Patience time.Duration
	// Silence is how long a stream may be silent before it counts as lost; default
	// 35 seconds, more than three of the server's signs of life.
	Silence time.Duration

	once     sync.Once
	mu       sync.Mutex
	base     string // the address in use; empty before it is known
	instance string // the run of the server
}

// refusal is an answer that is no success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// newHTTP makes the client that is used where none is given: the token goes to no
// other address.
func newHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 30 * time.Second
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (c *Client) begin() {
	if c.HTTP == nil {
		c.HTTP = newHTTP()
	}
	c.Patience = cmp.Or(max(c.Patience, 0), 90*time.Second)
	c.Silence = cmp.Or(max(c.Silence, 0), 35*time.Second)
	c.TokenName = cmp.Or(c.TokenName, "the token")
}

// Status is what [Client.Check] found.
type Status struct {
	wire.Info
	Endpoint string // the address to use, if the server named one
}

// Check asks a server who it is, and whether the token is good.
func (c *Client) Check(ctx context.Context) (Status, error) {
	c.once.Do(c.begin)
	base, err := c.resolve(ctx)
	if err != nil {
		return Status{}, err
	}
	info, _, err := c.info(ctx, base)
	return Status{info, base}, err
}

// connect finds out the address to use and the run of the server there. It asks
// only once.
func (c *Client) connect(ctx context.Context) (base, instance string, err error) {
	c.once.Do(c.begin)
	c.mu.Lock()
	defer c.mu.Unlock()
	for wait := firstWait; c.base == ""; wait *= 2 {
		base, err := c.resolve(ctx)
		if err == nil {
			_, c.instance, err = c.info(ctx, base)
		}
		if err == nil {
			c.base = base
		} else if wait > time.Second || ctx.Err() != nil || !transient(err) {
			return "", "", err
		} else {
			clock.Pause(ctx, wait)
		}
	}
	return c.base, c.instance, nil
}

// transient says whether a request that failed may do better.
func transient(err error) bool {
	no, refused := errors.AsType[*refusal](err)
	return !refused || no.status >= 500
}

// reconnect forgets what connect found.
func (c *Client) reconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = ""
}

// resolve asks the endpoint which address to use.
func (c *Client) resolve(ctx context.Context) (string, error) {
	base, err := address(c.Endpoint)
	if err != nil {
		return "", err
	}
	var r wire.Resolved
	_, err = c.call(ctx, request{method: http.MethodGet, url: base + "/resolve"}, &r)
	no, refused := errors.AsType[*refusal](err)
	if refused && (no.status == http.StatusNotFound || no.status == http.StatusMethodNotAllowed || no.status == http.StatusNotImplemented) {
		return base, nil
	}
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(base, "https:") && !strings.HasPrefix(r.Endpoint, "https:") {
		return "", fmt.Errorf("%s names an address without https, which would show the token", c.Endpoint)
	}
	to, err := address(r.Endpoint)
	if err != nil {
		return "", fmt.Errorf("%s names another address: %w", c.Endpoint, err)
	}
	return to, nil
}

// address checks an address and gives it without a slash at its end.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%.200q is not an address such as https://notebooks.example", text)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func (c *Client) info(ctx context.Context, base string) (wire.Info, string, error) {
	var info wire.Info
	h, err := c.call(ctx, request{method: http.MethodGet, url: base + "/v1/info"}, &info)
	if err != nil {
		return info, "", err
	}
	if info.Protocol != wire.Protocol || h.Get(wire.Instance) == "" {
		return info, "", fmt.Errorf("%s is no notebook server of a version that fits (protocol %d, not %d)", base, info.Protocol, wire.Protocol)
	}
	return info, h.Get(wire.Instance), nil
}

// request is one to the server.
type request struct {
	method, url string
	instance    string // empty: any
	after       int64  // of a stream, where to go on
	body        []byte
}

// callTime bounds a request that is answered at once.
const callTime = 30 * time.Second

// call makes a request that is answered at once, in JSON.
func (c *Client) call(ctx context.Context, q request, v any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	resp, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("%s does not answer as a notebook server", c.Endpoint)
	}
	return resp.Header, nil
}

// send makes a request. What is no success is a refusal.
func (c *Client) send(ctx context.Context, q request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, q.url, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	if q.instance != "" {
		r.Header.Set(wire.Instance, q.instance)
	}
	if q.after > 0 {
		r.Header.Set("Last-Event-ID", fmt.Sprintf("%016d", q.after))
	}
	if q.method == http.MethodPost {
		// Whether it is sent again is decided by who knows what it does.
		r.GetBody = nil
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refused(resp)
}

func (c *Client) refused(resp *http.Response) error {
	var e wire.Error
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if json.Unmarshal(data, &e) != nil || e.Error == "" {
		e.Error = resp.Status
	}
	text := fmt.Sprintf("%s: %.500s", c.Endpoint, c.Redact.String(e.Error))
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		text = fmt.Sprintf("%s does not accept %s", c.Endpoint, c.TokenName)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		text = fmt.Sprintf("%s sends to another address; use that one as notebook.endpoint", c.Endpoint)
	}
	return &refusal{resp.StatusCode, text}
}
