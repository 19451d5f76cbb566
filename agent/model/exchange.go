package model

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxErrorBody = 64 << 10
	// tailTimeout limits what follows the finish reason: usage and end mark.
	tailTimeout = 5 * time.Second
	// drainTimeout limits what follows the end mark.
	drainTimeout = 50 * time.Millisecond
)

// exchange is one request and its response, of which it limits what comes back.
type exchange struct {
	client *Client
	form   form
	ctx    context.Context
	watch  *watchdog
	rest   io.ReadCloser // the body behind what was read
}

// send sends a request and gives the events of the response.
func (x *exchange) send(body []byte) (*events, error) {
	url := x.client.root + x.form.path(x.client.root)
	req, err := http.NewRequestWithContext(x.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	Authorize(req, x.form.api, x.client.opt.Key)
	if x.form.plain {
		req.Header.Set("Accept", "application/json")
	} else { // a plain reply begins when it is complete: only the context limits that
		x.watch.allow("response", x.client.opt.IdleTimeout)
	}
	return x.receive(req)
}

func (x *exchange) receive(req *http.Request) (*events, error) {
	resp, err := x.client.http.Do(req)
	if err != nil {
		return nil, x.watch.explain(lost(err))
	}
	x.watch.allow("byte", x.client.opt.IdleTimeout)
	body := &watchedBody{x: x, from: resp.Body, left: x.client.opt.MaxReply}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // half an error is one too
		resp.Body.Close()
		if len(text) == maxErrorBody { // which may have cut a secret
			text = []byte(x.client.redact(string(text)))
			text = text[:max(0, len(text)-4<<10)]
		}
		return nil, x.client.refused(req, resp, text)
	}
	x.rest = resp.Body
	events, err := newEvents(body, x.client.quote(resp.Header.Get("Content-Type")))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return events, nil
}

// unstreamed asks for a reply in one piece. The bytes replaced cannot be part of a
// message, where each quote has a backslash before it, and they stand before tools
// and the arguments of calls.
func unstreamed(text []byte) []byte {
	return bytes.Replace(text, []byte(`"stream":true`), []byte(`"stream":false`), 1)
}

// drain reads the little that is left behind the end mark, so that the next
// request can use the connection. It must come before the body is closed.
func (x *exchange) drain() {
	x.watch.allow("end", drainTimeout)
	_, _ = io.CopyN(io.Discard, x.rest, 4<<10) // an error costs the connection, no more
}

// watchedBody is a response body, decompressed, with a limit on its size and on
// the time between two reads that give something.
type watchedBody struct {
	x    *exchange
	from io.Reader
	left int64
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, &failure{text: fmt.Sprintf("reply is larger than %d bytes", b.x.client.opt.MaxReply)}
	}
	if n > 0 {
		b.x.watch.again()
	}
	if err != nil && err != io.EOF {
		err = b.x.watch.explain(lost(err))
	}
	return n, err
}

// events reads a body and gives what is in the data lines of a stream. A body that
// is one JSON object is one such line. Comments, other fields and a line cut off by
// the end are left out.
type events struct {
	lines *bufio.Reader
	whole []byte // unless nil, all there is

	marked bool // the end mark has come
}

func newEvents(body io.Reader, contentType string) (*events, error) {
	e := &events{lines: bufio.NewReader(body)}
	first, err := e.firstByte()
	switch {
	case err == io.EOF:
		return nil, damaged("reply is empty")
	case err != nil:
		return nil, err
	case first == '<':
		return nil, &failure{text: fmt.Sprintf("reply is an HTML page (%s), not a chat completion: is the base URL right?", contentType)}
	case first == '{' || first == '[':
		e.whole, err = io.ReadAll(e.lines)
	}
	return e, err
}

// firstByte skips white space and a byte order mark.
func (e *events) firstByte() (byte, error) {
	for {
		r, _, err := e.lines.ReadRune()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n\ufeff", r) {
			_ = e.lines.UnreadRune() // follows a ReadRune
			b, err := e.lines.Peek(1)
			if err != nil {
				return 0, err
			}
			return b[0], nil
		}
	}
}

// next gives the next event, until the end mark.
func (e *events) next() ([]byte, error) {
	if data := e.whole; data != nil {
		e.whole = nil
		return data, nil
	}
	for !e.marked {
		line, err := e.lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = bytes.TrimSpace(data)
			if e.marked = string(data) == "[DONE]"; !e.marked {
				return data, nil
			}
		}
	}
	return nil, io.EOF
}
