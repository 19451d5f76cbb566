package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// pipes is a network in memory, so that HTTP runs under a fake clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours, nil
}

// overPipes makes a client of a handler. It must be called in a synctest bubble.
func overPipes(t *testing.T, handler http.HandlerFunc, opt model.Options) *model.Client {
	t.Helper()
	p := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // only then the server notices that a client goes
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	})}
	go server.Serve(p)
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(func() {
		close(p.done)
		transport.CloseIdleConnections()
		server.Close()
	})
	opt.BaseURL, opt.Name, opt.Transport = "http://127.0.0.1/v1", "m", transport
	c, err := model.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTimeLimits: each of the limits ends a request at its time.
func TestTimeLimits(t *testing.T) {
	say := func(w io.Writer, text string) { // to a client that may have gone
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
	}
	// trickle sends text byte by byte, at intervals.
	trickle := func(text string, every time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := range len(text) {
				say(w, text[i:i+1])
				select {
				case <-time.After(every):
				case <-r.Context().Done():
					return
				}
			}
		}
	}
	wait := func(first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if first != "" {
				say(w, first)
			}
			<-r.Context().Done()
		}
	}
	answer := stream(delta(`{"content":"ok"}`), finish, mark)
	tests := []struct {
		name    string
		handler http.HandlerFunc
		idle    time.Duration
		total   time.Duration
		after   time.Duration
		want    string // of the error
	}{
		{"no header", wait(""), time.Minute, time.Hour, time.Minute, "no response for 1m0s"},
		{"no header, total first", wait(""), time.Minute, 9 * time.Second, 9 * time.Second, "context deadline exceeded"},
		{"no body", wait("\n"), time.Minute, time.Hour, time.Minute, "no byte for 1m0s"},
		{"stops in the middle", wait(stream(delta(`{"content":"ok"}`))), time.Minute, time.Hour, time.Minute, "no byte for 1m0s"},
		{"one byte a minute, less patience", trickle(answer, time.Minute), 30 * time.Second, time.Hour, 30 * time.Second, "no byte for 30s"},
		{"one byte a minute, more patience", trickle(answer, time.Minute), 2 * time.Minute, 15 * time.Minute, 15 * time.Minute, "context deadline exceeded"},
		{"one byte a second", trickle(answer, time.Second), time.Minute, time.Hour, time.Duration(len(answer)-1) * time.Second, ""},
		{"comments keep it alive", trickle(strings.Repeat(": wait\n", 10)+answer, time.Second), 2 * time.Second, time.Hour, time.Duration(69+len(answer)) * time.Second, ""},
		{"an answer that is not closed", wait(answer), time.Minute, time.Hour, 50 * time.Millisecond, ""},
		{"an answer without end mark that is not closed", wait(strings.TrimSuffix(answer, "data: [DONE]\n\n")), time.Minute, time.Hour, 5*time.Second + 50*time.Millisecond, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := overPipes(t, tt.handler, model.Options{IdleTimeout: tt.idle})
				ctx, cancel := context.WithTimeout(t.Context(), tt.total)
				defer cancel()
				start := time.Now()
				got, err := c.Reply(ctx, question)
				if took := time.Since(start); took < tt.after-time.Second || took > tt.after {
					t.Errorf("ended after %s, want %s", took, tt.after)
				}
				if tt.want == "" && (err != nil || got.Text != "ok") {
					t.Errorf("%v %v, want an answer", got, err)
				}
				if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
			})
		})
	}
}

// TestPlainReplyTakesItsTime: a server that does not stream says nothing while
// it thinks.
func TestPlainReplyTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overPipes(t, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"stream":true`) {
				http.Error(w, `{"error":"this model does not stream"}`, http.StatusBadRequest)
				return
			}
			<-time.After(10 * time.Minute)
			fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
		}, model.Options{})
		if got, err := c.Reply(t.Context(), question); err != nil || got.Text != "ok" {
			t.Errorf("%v %v", got, err)
		}
	})
}

// status answers every request with a status and, if it is not empty, Retry-After.
func status(code int, after string) transport {
	return func(r *http.Request) (*http.Response, error) {
		resp := response(r, `{"error":{"message":"no"}}`, nil)
		resp.StatusCode, resp.Status = code, fmt.Sprintf("%d no", code)
		if after != "" {
			resp.Header.Set("Retry-After", after)
		}
		return resp, nil
	}
}

func body(text string, end error) transport {
	return func(r *http.Request) (*http.Response, error) { return response(r, text, end), nil }
}

// asking is the question of someone who wants to know of retries.
func asking(onRetry func(int, time.Duration, error)) model.Request {
	return model.Request{Messages: question.Messages, OnRetry: onRetry}
}

// outage asks a server that only ever answers so, with 4 retries.
func outage(t *testing.T, answer transport) (requests int, waits []time.Duration, err error) {
	c, err := model.NewClient(model.Options{
		BaseURL: "http://localhost/v1", API: model.Chat, Retries: 4,
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			requests++
			return answer(r)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Reply(t.Context(), asking(func(attempt int, wait time.Duration, err error) {
		waits = append(waits, wait)
		if attempt != len(waits) || err == nil {
			t.Errorf("OnRetry %d, %v", attempt, err)
		}
	}))
	return requests, waits, err
}

// TestRetries: which failures are sent for again, how often and after what wait.
func TestRetries(t *testing.T) {
	// A synctest clock starts at this time.
	const in45s, in10y = "Sat, 01 Jan 2000 00:00:45 GMT", "Fri, 01 Jan 2010 00:00:00 GMT"
	backoff := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}
	always := func(d time.Duration) []time.Duration { return []time.Duration{d, d, d, d} }
	none := always(0)
	tests := []struct {
		name     string
		answer   transport
		requests int
		min, max []time.Duration // of each wait
	}{
		{"429", status(429, ""), 5, none, backoff},
		{"500", status(500, ""), 5, none, backoff},
		{"502", status(502, ""), 5, none, backoff},
		{"503", status(503, ""), 5, none, backoff},
		{"529", status(529, ""), 5, none, backoff},
		{"408", status(408, ""), 5, none, backoff},
		{"400", status(400, "1"), 1, nil, nil},
		{"401", status(401, "1"), 1, nil, nil},
		{"403", status(403, "1"), 1, nil, nil},
		{"404", status(404, "1"), 1, nil, nil},
		{"422", status(422, "1"), 1, nil, nil},
		{"501", status(501, ""), 1, nil, nil},
		{"7 seconds", status(429, "7"), 5, always(7 * time.Second), always(7 * time.Second)},
		{"half a second", status(503, "0.5"), 5, always(500 * time.Millisecond), backoff},
		{"zero", status(429, "0"), 5, none, backoff},
		{"below zero", status(429, "-5"), 5, none, backoff},
		{"a year in seconds", status(429, "31536000"), 5, always(time.Minute), always(time.Minute)},
		{"too large for a number", status(429, "1e999"), 5, none, backoff},
		{"infinite", status(429, "Inf"), 5, always(time.Minute), always(time.Minute)},
		{"not a number", status(429, "NaN"), 5, none, backoff},
		{"a date", status(429, in45s), 5, none, []time.Duration{45 * time.Second, 45 * time.Second, 45 * time.Second, 45 * time.Second}},
		{"a date in 10 years", status(429, in10y), 5, always(time.Minute), always(time.Minute)},
		{"a date long ago", status(429, "Sat, 01 Jan 1990 00:00:00 GMT"), 5, none, backoff},
		{"garbage", status(429, "soon\x00"), 5, none, backoff},
		{"no connection", func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, 5, none, backoff},
		{"reset", body(stream(delta(`{"content":"x"}`)), errors.New("connection reset by peer")), 5, none, backoff},
		{"cut", body(stream(delta(`{"content":"x"}`)), nil), 5, none, backoff},
		{"HTML", body("<html>", nil), 1, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, total := time.Now(), time.Duration(0)
				requests, waits, err := outage(t, tt.answer)
				if err == nil {
					t.Fatal("an answer")
				}
				if requests != tt.requests || len(waits) != tt.requests-1 {
					t.Errorf("%d requests, %d waits, want %d requests", requests, len(waits), tt.requests)
				}
				for i, wait := range waits {
					total += wait
					if wait < tt.min[i] || wait > tt.max[i] {
						t.Errorf("wait %d: %s, want %s to %s", i+1, wait, tt.min[i], tt.max[i])
					}
				}
				if took := time.Since(start); took != total {
					t.Errorf("took %s, said %s", took, total)
				}
				if said := strings.Contains(err.Error(), "(5 attempts)"); said != (requests == 5) {
					t.Error(err)
				}
			})
		})
	}
}

// TestRetriesWithinTheTime: a wait that the context does not leave is not begun,
// so that the time is left for what comes after; and one that is begun ends with it.
func TestRetriesWithinTheTime(t *testing.T) {
	busy := transport(func(r *http.Request) (*http.Response, error) {
		resp := response(r, "", nil)
		resp.StatusCode, resp.Status = 503, "503 busy"
		resp.Header.Set("Retry-After", "30")
		return resp, nil
	})
	signal := errors.New("SIGTERM")
	synctest.Test(t, func(t *testing.T) {
		c, err := model.NewClient(model.Options{BaseURL: "http://localhost/v1", Name: "m", Retries: 4, Transport: busy})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		start := time.Now()
		_, err = c.Reply(ctx, question)
		if took := time.Since(start); took != 30*time.Second || err == nil || err.Error() != "m at http://localhost/v1: 503 busy (2 attempts)" {
			t.Errorf("%s: %v", took, err)
		}

		stopped, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { stop(signal) })
		start = time.Now()
		_, err = c.Reply(stopped, question)
		if took := time.Since(start); took != 10*time.Second || !errors.Is(err, signal) {
			t.Errorf("%s: %v", took, err)
		}
	})
}

// TestRetriesOverTCP: behind each real failure of a real server comes the answer.
func TestRetriesOverTCP(t *testing.T) {
	tests := []struct {
		name  string
		reply modeltest.Reply
		want  string
	}{
		{"status", modeltest.Reply{Status: 503, Text: "busy"}, "503 Service Unavailable: busy"},
		{"reset", modeltest.Reply{Text: "a text that is cut in the middle", Cut: 250}, "connection reset by peer"},
		{"length too large", modeltest.Reply{Body: stream(delta(`{}`)), Headers: map[string]string{"Content-Length": "999"}}, "unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var told error
			s := modeltest.New(tt.reply, modeltest.Reply{Text: "ok"})
			c := newClient(t, s, model.Options{Retries: 1})
			got, err := c.Reply(t.Context(), asking(func(_ int, _ time.Duration, err error) { told = err }))
			if err != nil || got.Text != "ok" {
				t.Errorf("%v %v", got, err)
			}
			if told == nil || !strings.Contains(told.Error(), tt.want) {
				t.Errorf("retried after %v, want %s", told, tt.want)
			}
		})
	}
}

// TestIdleOverTCP: a real server that stalls is left after the idle timeout.
func TestIdleOverTCP(t *testing.T) {
	for _, reply := range []modeltest.Reply{{Stall: true}, {Delay: "1h"}} {
		c := newClient(t, modeltest.New(reply), model.Options{IdleTimeout: 100 * time.Millisecond})
		if _, err := c.Reply(t.Context(), question); err == nil || !strings.HasSuffix(err.Error(), "for 100ms") {
			t.Errorf("%+v: %v", reply, err)
		}
	}
}

// TestLengthTooSmall: what the header cuts off is not there.
func TestLengthTooSmall(t *testing.T) {
	body := stream(delta(`{"content":"ok"}`), finish)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body)-9, body)
	}))
	defer s.Close()
	c, err := model.NewClient(model.Options{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Reply(t.Context(), question); err == nil || !strings.Contains(err.Error(), "without a finish reason") {
		t.Errorf("%v %v", got, err)
	}
}

// TestConnect: a server that no one vouches for is not tried twice, and one that
// takes the connection and says nothing costs the connect timeout.
func TestConnect(t *testing.T) {
	untrusted := httptest.NewUnstartedServer(nil)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	tests := []struct {
		name, url, want string
		timeout         time.Duration
		retried         bool
	}{
		{"untrusted", untrusted.URL, "certificate", time.Minute, false},
		{"silent", "https://" + silent.Addr().String(), "TLS handshake timeout", 50 * time.Millisecond, true},
		{"gone", "http://" + gone.Addr().String(), "connection refused", time.Minute, true},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithCancel(t.Context())
		var told error
		c, err := model.NewClient(model.Options{BaseURL: tt.url, Retries: 1, ConnectTimeout: tt.timeout})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Reply(ctx, asking(func(_ int, _ time.Duration, err error) {
			told = err
			cancel()
		}))
		if (told != nil) != tt.retried {
			t.Errorf("%s: retried after %v", tt.name, told)
		}
		if told != nil {
			err = told
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		cancel()
	}
}
