package model

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rouse/internal/lazy"
	"rouse/internal/text"
)

// failure is why a request gave no answer. Its text is redacted.
type failure struct {
	text   string
	cause  error         // the context's, where that ended the request, or [reason]
	status int           // of the response, 0 if there was none
	unsent bool          // there was no connection
	retry  bool          // it may pass
	away   bool          // the server is not reached, or gives this user nothing
	after  time.Duration // what Retry-After asks for, 0 if it does not

	missing bool   // the server does not have what was asked for
	wants   string // the API that it names

	code       string // of the server's own
	generation string // what it could not read, not redacted
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// failed tells what an error of one request means. What came from the network
// may pass; what we or go-openai refused will not.
func (c *Client) failed(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	fail, ok := errors.AsType[*failure](err)
	if !ok {
		fail = &failure{text: err.Error()}
	}
	copied := *fail
	copied.text = c.redact(copied.text)
	return &copied
}

func ended(ctx context.Context) *failure {
	cause := context.Cause(ctx)
	return &failure{text: cause.Error(), cause: cause}
}

// lost is a failure of the connection.
func lost(err error) *failure {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the text around it repeats our URL
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	dial, ok := errors.AsType[*net.OpError](err)
	return &failure{text: err.Error(), unsent: untrusted || ok && dial.Op == "dial", retry: !untrusted, away: true}
}

// Unbilled reports whether a failed request certainly cost nothing: there was no
// connection, or the server refused it, or sent it elsewhere, by a status. One that broke off may have
// cost as much as it could.
func Unbilled(err error) bool {
	fail, ok := errors.AsType[*failure](err)
	return ok && (fail.unsent || fail.status >= 300)
}

// Unanswered reports whether a request was sent, or tried, and brought no reply.
func Unanswered(err error) bool {
	_, ok := errors.AsType[*failure](err)
	return ok
}

// Away reports whether a request failed for a reason that another server, or another
// model, may not have: this one is not reached, its quota is used up, or it refuses.
func Away(err error) bool {
	fail, ok := errors.AsType[*failure](err)
	return ok && fail.away
}

// damaged is a failure of a reply that began well.
func damaged(format string, args ...any) *failure {
	return &failure{text: fmt.Sprintf(format, args...), retry: true}
}

// refused is a failure that the server reports by its status. Key and URL are
// what a user has to look at after 401, 403 and 404.
func (c *Client) refused(req *http.Request, resp *http.Response, body []byte) *failure {
	told := readComplaint(body, c.quote)
	fail := &failure{
		status: resp.StatusCode, text: resp.Status, code: told.code, generation: told.generation, away: told.away(resp.StatusCode),
	}
	if told.text != "" {
		fail.text += ": " + told.text
	}
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		fail.text = fmt.Sprintf("%s to %s: not followed, set the base URL to where the server is",
			resp.Status, c.quote(resp.Header.Get("Location")))
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound:
		fail.cause = reason(code, told.text)
		fail.text += fmt.Sprintf(" (POST %s, %s)", req.URL, c.keyUsed())
	default:
		fail.cause = reason(code, told.code+" "+told.text)
		fail.retry = mayPass(code) && told.code != "insufficient_quota" && fail.cause == nil
		fail.after = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	fail.seek(told.text)
	return fail
}

func (c *Client) keyUsed() string {
	if c.opt.Key == "" {
		return "no key: " + c.opt.KeyName + " is not set"
	}
	return "key from " + c.opt.KeyName
}

func mayPass(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
		status >= 500 && status != http.StatusNotImplemented
}

// complaint is what an error body says: of OpenAI {"error":{"message":…}}, of
// Ollama {"error":"…"}, of Gemini [{"error":{…}}], or anything else as text.
// text and code are quoted.
type complaint struct{ text, code, generation string }

// noQuota matches how servers say that nothing is left of what was paid for.
var noQuota = lazy.Regexp{Expr: `(?i)quota|billing|credit|balance|payment`}

// away says that a status tells of a server that is not there for this user.
func (c complaint) away(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return true
	case http.StatusTooManyRequests:
		return noQuota.Get().MatchString(c.code + " " + c.text)
	case http.StatusBadRequest: // as Anthropic says it
		return strings.Contains(c.text, "credit balance")
	}
	return status >= 500 && status != http.StatusNotImplemented
}

func readComplaint(body []byte, quote func(string) string) complaint {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if bytes.HasPrefix(body, []byte("<")) {
		return complaint{text: "an HTML page"}
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct{ Error json.RawMessage }
	if json.Unmarshal(body, &outer) == nil && len(outer.Error) > 0 {
		body = outer.Error
	}
	return errorObject(body, quote)
}

// errorObject reads the value of "error".
func errorObject(raw []byte, quote func(string) string) complaint {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return complaint{text: quote(text)}
	}
	var object struct {
		Message string
		Code    any
		Failed  string `json:"failed_generation"`
	}
	_ = json.Unmarshal(raw, &object) // what does not fit stays empty
	c := complaint{text: quote(cmp.Or(object.Message, string(raw))), generation: object.Failed}
	if object.Code != nil {
		c.code = quote(fmt.Sprint(object.Code))
	}
	return c
}

// complaintOf reads an error inside a reply in the words of Responses or of Messages,
// where a name stands for a status.
func complaintOf(raw json.RawMessage, quote func(string) string) complaint {
	c := errorObject(raw, quote)
	var named struct{ Type string }
	_ = json.Unmarshal(raw, &named)
	switch name := cmp.Or(c.code, named.Type); name {
	case "invalid_request_error", "invalid_prompt":
		c.code = "400"
	case "authentication_error":
		c.code = "401"
	case "billing_error":
		c.code = "402"
	case "permission_error":
		c.code = "403"
	case "not_found_error":
		c.code = "404"
	case "request_too_large":
		c.code = "413"
	case "rate_limit_error", "rate_limit_exceeded":
		c.code = "429"
	case "overloaded_error":
		c.code = "529"
	}
	return c
}

// failure is what a complaint inside a 200 response means. A code that is a
// status decides; without one the server failed on its way, which may pass.
func (c complaint) failure() *failure {
	status, err := strconv.Atoi(c.code)
	isStatus := err == nil && status >= 400 && status < 600
	text := "server error in the reply: " + c.text
	if c.code != "" {
		text += " (" + c.code + ")"
	}
	cause := reason(status, c.code+" "+c.text)
	away := isStatus && c.away(status) || strings.Contains(c.code, "quota")
	return &failure{
		text: text, cause: cause, retry: cause == nil && (!isStatus || mayPass(status)), away: away && cause == nil, code: c.code, generation: c.generation,
	}
}

// quote makes text of the server fit for an error. The cut comes last, so that
// it leaves no part of a secret that the redactor would not know.
func (c *Client) quote(text string) string { return shorten(c.redact(text)) }

// shorten makes one line of at most 500 bytes. Words with asterisks are left
// out: servers repeat the start and the end of a refused key that way.
func shorten(said string) string {
	words := strings.Fields(text.Words(said))
	for i, word := range words {
		if strings.Contains(word, "***") {
			words[i] = "***"
		}
	}
	return text.CutBytes(strings.Join(words, " "), 500)
}

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
	maxWait      = time.Minute
)

// backoff is how long to wait after the given attempt: a random part of a span
// that doubles, and not less than the server asked for.
func backoff(attempt int, asked time.Duration) time.Duration {
	span := min(firstBackoff<<min(attempt-1, 16), maxBackoff)
	return max(rand.N(span), min(asked, maxWait))
}

// retryAfter reads the header's seconds or date; 0 for what is neither or past.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		if math.IsNaN(seconds) {
			return 0
		}
		return time.Duration(max(0, min(seconds, maxWait.Seconds())) * float64(time.Second))
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}
