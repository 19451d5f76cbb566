package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"rouse/internal/clock"
	"rouse/internal/loopback"
)

// Options say which model a [Client] asks, and how patiently.
type Options struct {
	// BaseURL is where the server's "/chat/completions" is, or what else API asks
	// by, mostly ending in "/v1". It carries no user name, query or fragment. Empty
	// means OpenAI.
	BaseURL string
	// API is [Chat], [Responses] or [Messages]; "" or [Auto] is what the address
	// says, or else what the server answers to.
	API string
	// Style, unless empty, is what requests have beside: a JSON object with
	// temperature, reasoning_effort and extra, a patch of RFC 7396 of the body.
	Style string
	// Key is sent as the API wants it. A server on loopback needs none.
	Key string
	// KeyName is the environment variable that Key is from, for messages.
	KeyName string
	// Name is the model's name.
	Name string
	// MaxOutput is the most tokens of a reply; 0 leaves it to the server.
	MaxOutput int
	// ConnectTimeout limits the connection and the TLS handshake, each; 0 means 10 s.
	ConnectTimeout time.Duration
	// IdleTimeout ends a request when no byte came for so long, before the
	// first one as well; 0 means 2 minutes. Comment lines of a stream are bytes:
	// a server that sends them is alive, and the context has the last word.
	IdleTimeout time.Duration
	// Retries is how often a request is sent again after a failure that may pass.
	Retries int
	// MaxReply is the most bytes of a response body, decompressed; 0 means
	// 4 MiB, or 512 for each token of MaxOutput where that is more.
	MaxReply int64
	// Plain asks without streaming from the first request on.
	Plain bool
	// Redact, if set, removes secrets from all text that comes from the server.
	Redact func(string) string
	// Transport, if set, carries the requests in place of TCP and TLS.
	Transport http.RoundTripper
}

// Client asks a model behind a server, by streaming where the server can. Several
// goroutines may use one.
type Client struct {
	opt  Options
	root string // of the server's paths
	auto bool   // the API is found out
	http *http.Client
	form atomic.Pointer[form] // as learned from the server's refusals
}

// NewClient makes a client. No request is sent. It is an error if the base URL
// cannot be used, or a key is missing for a server that is not on loopback.
func NewClient(opt Options) (*Client, error) {
	opt = opt.withDefaults()
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Transport == nil {
		opt.Transport = newTransport(opt.ConnectTimeout)
	}
	root, api := Server(opt.API, opt.BaseURL)
	c := &Client{opt: opt, root: root, auto: api == "", http: &http.Client{Transport: opt.Transport, CheckRedirect: stay}}
	c.form.Store(&form{api: api, completion: completionTokens(opt.Name), plain: opt.Plain})
	return c, nil
}

func (o Options) withDefaults() Options {
	o.BaseURL = strings.TrimRight(cmp.Or(o.BaseURL, "https://api.openai.com/v1"), "/")
	o.KeyName = cmp.Or(o.KeyName, "OPENAI_API_KEY")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.MaxReply = cmp.Or(o.MaxReply, max(4<<20, 512*int64(o.MaxOutput)))
	return o
}

// check finds what would fail or give the key away at the first request.
func (o Options) check() error {
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return errors.New("model base URL: not a URL") // the cause would show it, with any password
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("model base URL %q: want http://host/… or https://host/…", u.Redacted())
	case u.User != nil:
		return fmt.Errorf("model base URL %q: put the key in %s, not in the URL", u.Redacted(), o.KeyName)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("model base URL %s://%s%s: want no query and no fragment", u.Scheme, u.Host, u.Path)
	case strings.ContainsFunc(o.Key, notInHeader):
		return fmt.Errorf("model key: %s holds a space, a line break or another character that no key has", o.KeyName)
	case o.Key == "" && !isLocal(u.Hostname()):
		return fmt.Errorf("model key: %s is not set (%s is not on this machine, so it needs a key)", o.KeyName, o.BaseURL)
	}
	return nil
}

func notInHeader(r rune) bool { return r <= ' ' || r > '~' }

// isLocal also takes the names below localhost for this machine's.
func isLocal(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return loopback.Is(host) || strings.HasSuffix(host, ".localhost")
}

// stay follows no redirect: the key and the conversation go nowhere but to the
// configured server. The redirect itself becomes the error that the user reads.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func newTransport(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true, // where TLS negotiates it
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Reply asks the model once, and again while the failure may pass and retries
// and time are left. Sending twice is safe: nothing is carried out before a
// whole reply is here. Only a reply with a finish reason is an answer. Errors
// name the URL, never the key; they wrap the cause of ctx where that ended it.
func (c *Client) Reply(ctx context.Context, req Request) (Reply, error) {
	retries := c.opt.Retries
	if req.Hurry {
		retries = min(retries, 1)
	}
	for attempt := 1; ; attempt++ {
		reply, fail := c.ask(ctx, req)
		if fail == nil {
			return reply, nil
		}
		if !fail.retry || attempt > retries {
			return Reply{}, c.giveUp(fail, attempt)
		}
		wait := backoff(attempt, fail.after)
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
			return Reply{}, c.giveUp(fail, attempt)
		}
		if req.OnRetry != nil {
			req.OnRetry(attempt, wait, fail)
		}
		if !clock.Pause(ctx, wait) {
			return Reply{}, c.giveUp(ended(ctx), attempt)
		}
	}
}

func (c *Client) giveUp(fail *failure, attempts int) error {
	times := ""
	if attempts > 1 {
		times = fmt.Sprintf(" (%d attempts)", attempts)
	}
	return fmt.Errorf("%s at %s: %w%s", c.opt.Name, c.redact(c.opt.BaseURL), fail, times)
}

// ask sends one request, and another one at once for each thing that the server
// says it does not support and that we can do without. What worked is kept.
func (c *Client) ask(ctx context.Context, req Request) (Reply, *failure) {
	form := *c.form.Load()
	if c.auto && form.api == "" {
		form.api = cmp.Or(req.API, Chat)
	}
	var first *failure // of an API that the server may not have
	tried := []string{form.api}
	for {
		reply, err := c.once(ctx, form, req)
		if err == nil {
			c.form.Store(&form)
			reply.Form = form.String()
			if c.auto && form.api != Chat {
				reply.API = form.api
			}
			return reply, nil
		}
		fail := c.failed(ctx, err)
		if fail.code == Unreadable {
			return Reply{Text: fail.generation, Finish: Unreadable, Form: form.String()}.clean(c.redact), nil
		}
		if next, ok := form.without(fail); ok {
			form = next
			continue
		}
		next := ""
		if c.auto {
			next = fail.elsewhere(tried)
		}
		switch {
		case next == "" && fail.elsewhere(nil) != "":
			return Reply{}, cmp.Or(first, fail)
		case next == "":
			return Reply{}, fail
		}
		first, form.api, tried = cmp.Or(first, fail), next, append(tried, next)
	}
}

func (c *Client) once(ctx context.Context, form form, req Request) (Reply, error) {
	x := &exchange{client: c, form: form}
	x.ctx, x.watch = newWatchdog(ctx)
	defer x.watch.stop()
	body, err := form.body(c.opt, req)
	if err != nil {
		return Reply{}, fmt.Errorf("write the request: %w", err)
	}
	events, err := x.send(body)
	if err != nil {
		return Reply{}, err
	}
	defer x.rest.Close()
	a := answer{api: form.api, quote: c.quote}
	reply, err := a.collect(events, func() { x.watch.allow("end of the stream", tailTimeout) })
	if err != nil {
		return Reply{}, err
	}
	x.drain()
	return reply.clean(c.redact), nil
}

// redact removes the key itself, whatever else the redactor knows. Shorter keys
// are placeholders for servers that want none.
func (c *Client) redact(text string) string {
	if len(c.opt.Key) >= 8 {
		text = strings.ReplaceAll(text, c.opt.Key, "[key]")
	}
	if c.opt.Redact != nil {
		text = c.opt.Redact(text)
	}
	return text
}
