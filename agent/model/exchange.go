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

// exchange is one request and its response. It stands between go-openai and
// HTTP, limits what comes back and turns it into a stream of the one shape that
// go-openai reads without losing anything.
type exchange struct {
	client *Client
	form   form
	ctx    context.Context
	watch  *watchdog
	events *events
	rest   io.Reader // the body behind what was read
}

// Do sends a request of go-openai.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.form.plain {
		if err := unstream(req); err != nil {
			return nil, err
		}
	} else { // a plain reply begins when it is complete: only the context limits that
		x.watch.allow("response", x.client.opt.IdleTimeout)
	}
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
		return nil, x.client.refused(resp, text)
	}
	events, err := newEvents(body, x.client.quote(resp.Header.Get("Content-Type")))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	x.events, x.rest = events, resp.Body
	resp.Body = readCloser{events, resp.Body}
	return resp, nil
}

// unstream asks for a reply in one piece. go-openai's own way to do so decodes
// the reply itself, and stumbles over what [chunk] accepts. The bytes replaced
// cannot be part of a message, where each quote has a backslash before it, and
// they stand before the tools.
func unstream(req *http.Request) error {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	text = unstreamed(text)
	req.Body = io.NopCloser(bytes.NewReader(text))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	req.ContentLength = int64(len(text))
	req.Header.Set("Accept", "application/json")
	return nil
}

func unstreamed(text []byte) []byte {
	return bytes.Replace(text, []byte(`"stream":true`), []byte(`"stream":false`), 1)
}

// drain reads the little that is left behind the end mark, so that the next
// request can use the connection. It must come before the body is closed.
func (x *exchange) drain() {
	x.watch.allow("end", drainTimeout)
	_, _ = io.CopyN(io.Discard, x.rest, 4<<10) // an error costs the connection, no more
}

type readCloser struct {
	io.Reader
	io.Closer
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

// events reads a body and gives the data lines of a stream, each `data: {…}`.
// A body that is one JSON object becomes one such line. Comments, other fields
// and a line cut off by the end are left out.
type events struct {
	lines *bufio.Reader
	ready []byte
	err   error

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
		err = e.whole()
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

// whole makes one line of the whole body.
func (e *events) whole() error {
	text, err := io.ReadAll(e.lines)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("\n"), []byte(" ")) // JSON strings hold none
	e.ready = dataLine(text)
	e.err = io.EOF
	return nil
}

// Read is an [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 && e.err == nil {
		e.next()
	}
	if len(e.ready) == 0 {
		return 0, e.err
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

func (e *events) next() {
	line, err := e.lines.ReadBytes('\n')
	if err != nil {
		e.err = err
		return
	}
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		data = bytes.TrimSpace(data)
		e.marked = e.marked || string(data) == "[DONE]"
		e.ready = dataLine(data)
	}
}

// dataLine puts a space after the opening brace, so that go-openai does not take
// `{"error":` for itself: it would read on, and loses an error without message.
func dataLine(data []byte) []byte {
	if rest, ok := bytes.CutPrefix(data, []byte("{")); ok {
		return fmt.Appendf(nil, "data: { %s\n", rest)
	}
	return fmt.Appendf(nil, "data: %s\n", data)
}
