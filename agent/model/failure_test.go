package model_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// response is one with the given body, whose end is an error unless it is nil.
func response(r *http.Request, body string, end error) *http.Response {
	var from io.Reader = strings.NewReader(body)
	if end != nil {
		from = io.MultiReader(from, errReader{end})
	}
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(from), Request: r}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// TestBadBodies are the bodies of a 200 response that are no answer: each is an
// error with a reason, and sent for again or not; testdata/shapes.txtar has more.
func TestBadBodies(t *testing.T) {
	content := delta(`{"content":"half"}`)
	tests := []struct {
		name, body string
		want       string
		retried    bool
	}{
		{"only white space", " \r\n\n", "reply is empty", true},
		{"only comments", strings.Repeat(": ping\n\n", 400), "reply ended without a finish reason", true},
		{"cut in an event", stream(content) + `data: {"id":"x","choi`, "reply ended without a finish reason", true},
		{"cut before the last line break", stream(content) + "data: " + finish, "reply ended without a finish reason", true},
		{"plain, with prose behind", `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]} bye`, "not what a chat completion looks like", true},
		{"NUL", stream(delta("{\"content\":\"a\x00b\"}"), finish), "not what a chat completion looks like", true},
		{"depth 1e5", stream(delta(`{"content":`+strings.Repeat("[", 100_000)), finish), "exceeded max depth", true},
		{"a million choices", `{"choices":[` + strings.Repeat("{},", 1<<20) + `{}]}`, "one event of the reply holds more than 65536 objects", false},
		{"10 MB string", stream(delta(`{"content":"`+strings.Repeat("x", 10<<20)+`"}`), finish), "reply is larger than 4194304 bytes", false},
		{"10 MB of comments", strings.Repeat(": ping\n", 10<<20/7) + stream(content, finish), "reply is larger than 4194304 bytes", false},
		{"10 MB behind the finish reason", stream(content, finish) + strings.Repeat(": ping\n", 10<<20/7), "reply is larger than 4194304 bytes", false},
		{"HTML", "\n<!DOCTYPE html><html>login</html>", "reply is an HTML page (text/html), not a chat completion: is the base URL right?", false},
		{"error event behind the finish reason", stream(content, finish, `{"error":{"message":"overloaded"}}`), "server error in the reply: overloaded", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := modeltest.New(modeltest.Reply{Body: tt.body, Headers: map[string]string{"Content-Type": "text/html"}})
			ctx, cancel := context.WithCancel(t.Context())
			var retried error
			c := newClient(t, s, model.Options{Retries: 1})
			got, err := c.Reply(ctx, asking(func(_ int, _ time.Duration, err error) {
				retried = err
				cancel()
			}))
			if err == nil {
				t.Fatalf("an answer: %v", got)
			}
			if (retried != nil) != tt.retried {
				t.Errorf("retried: %v, want %v", retried != nil, tt.retried)
			}
			if retried != nil {
				err = retried
			}
			if !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 800 {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestStatus: what each kind of refusal says.
func TestStatus(t *testing.T) {
	key := "secret" + "-key-0123456789"
	tests := []struct {
		name  string
		reply modeltest.Reply
		want  string
	}{
		{"401", modeltest.Reply{Status: 401, Text: "Incorrect API key provided: secre*******6789."},
			"m at URL: 401 Unauthorized: Incorrect API key provided: *** (POST URL/chat/completions, key from MY_KEY)"},
		{"401, key echoed", modeltest.Reply{Status: 401, Text: "bad key " + key}, "m at URL: 401 Unauthorized: bad key [key] (POST URL/chat/completions, key from MY_KEY)"},
		{"403, HTML", modeltest.Reply{Status: 403, Body: "<html>no</html>"}, "m at URL: 403 Forbidden: an HTML page (POST URL/chat/completions, key from MY_KEY)"},
		{"404, Ollama", modeltest.Reply{Status: 404, Body: `{"error":"model 'm' not found"}`}, "m at URL: 404 Not Found: model 'm' not found (POST URL/chat/completions, key from MY_KEY)"},
		{"400, Gemini", modeltest.Reply{Status: 400, Body: `[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`}, "m at URL: 400 Bad Request: API key not valid"},
		{"422, text", modeltest.Reply{Status: 422, Body: "no\nthanks"}, "m at URL: 422 Unprocessable Entity: no thanks"},
		{"422, empty", modeltest.Reply{Status: 422, Body: " "}, "m at URL: 422 Unprocessable Entity"},
		{"no money", modeltest.Reply{Status: 429, Body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`},
			"m at URL: 429 Too Many Requests: You exceeded your current quota"},
		{"redirect", modeltest.Reply{Status: 307, Text: "x", Headers: map[string]string{"Location": "https://elsewhere.example/v1"}},
			"m at URL: 307 Temporary Redirect to https://elsewhere.example/v1: not followed, set the base URL to where the server is"},
		{"endless text", modeltest.Reply{Status: 400, Body: strings.Repeat("x", 1<<20)}, "m at URL: 400 Bad Request: " + strings.Repeat("x", 500) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := modeltest.New(tt.reply, modeltest.Reply{Text: "a second request"})
			c := newClient(t, s, model.Options{Name: "m", Key: key, KeyName: "MY_KEY", Retries: 4})
			_, err := c.Reply(t.Context(), question)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.ReplaceAll(err.Error(), s.URL(), "URL"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := s.Requests()[0].Header.Get("Authorization"); got != "Bearer "+key {
				t.Errorf("Authorization: %q", got)
			}
		})
	}
}

// TestRedirectKeepsTheKey: neither the key nor the conversation goes to another host.
func TestRedirectKeepsTheKey(t *testing.T) {
	other := modeltest.New(modeltest.Reply{Text: "stolen"})
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := modeltest.New(modeltest.Reply{Status: status, Text: "x", Headers: map[string]string{"Location": other.URL() + "/chat/completions"}})
		_, err := newClient(t, s, model.Options{Key: "0123456789"}).Reply(t.Context(), question)
		if err == nil || !strings.Contains(err.Error(), "not followed") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("the other host saw %d requests", n)
	}
}

// TestNewClient: what no request is sent for.
func TestNewClient(t *testing.T) {
	key := "secret" + "-key-0123456789"
	tests := []struct{ url, key, want string }{
		{"", "", "model key: OPENAI_API_KEY is not set (https://api.openai.com/v1 is not on this machine, so it needs a key)"},
		{"http://192.168.0.1/v1", "", "OPENAI_API_KEY is not set"},
		{"http://127.0.0.1.example/v1", "", "OPENAI_API_KEY is not set"},
		{"http://notlocalhost/v1", "", "OPENAI_API_KEY is not set"},
		{"", key, ""},
		{"http://127.0.0.1:11434/v1", "", ""},
		{"http://127.8.9.1/v1/", "", ""},
		{"http://[::1]:8080", "", ""},
		{"http://[::ffff:127.0.0.1]/v1", "", ""},
		{"http://LocalHost./v1", "", ""},
		{"http://x.localhost/v1", "", ""},
		{"127.0.0.1:11434/v1", key, "model base URL: not a URL"},
		{"localhost:11434/v1", key, `want http://host/… or https://host/…`},
		{"ftp://localhost/v1", key, `want http://host/… or https://host/…`},
		{"http:///v1", key, `want http://host/… or https://host/…`},
		{"http://me:" + key + "@localhost/v1", key, "put the key in OPENAI_API_KEY, not in the URL"},
		{"http://localhost:" + key + "/v1", key, "model base URL: not a URL"},
		{"http://localhost/v1?key=" + key, key, "want no query and no fragment"},
		{"", key + "\n", "model key: OPENAI_API_KEY holds a space, a line break"},
	}
	for _, tt := range tests {
		_, err := model.NewClient(model.Options{BaseURL: tt.url, Key: tt.key, Transport: transport(nil)})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.url, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %q", tt.url, err, tt.want)
		case err != nil && strings.Contains(err.Error(), key):
			t.Errorf("%s: the error shows the key", tt.url)
		}
	}
}

// TestKeyInNoError sends the key back in every place that a server can, in
// plain and as JSON and base64, with a redactor that knows these forms.
func TestKeyInNoError(t *testing.T) {
	key := "secret" + "-key-" + strings.Repeat("0123456789", 4)
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	redact := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, key, "[…]"), encoded, "[…]")
	}
	replies := []modeltest.Reply{
		{Status: 401, Text: key}, {Status: 401, Body: key + encoded}, {Status: 500, Text: encoded}, {Status: 400, Body: `{"error":"` + key + `"}`},
		{Status: 429, Body: `{"error":{"message":"m","code":"` + key + `"}}`}, {Status: 302, Text: "x", Headers: map[string]string{"Location": "http://x/?" + key}},
		{Body: `{"error":{"message":"` + key + `"}}`}, {Body: stream(`{"error":{"message":"m","code":"` + key + `"}}`)}, {Body: stream(`{"choices":"` + key + `"}`)},
		{Body: "<html>", Headers: map[string]string{"Content-Type": key}}, {Text: key + " " + encoded, Finish: key},
		{Text: "x", Calls: []model.Call{call(key, key, `{"x":"`+key+encoded+`"}`)}}, {Status: 401, Text: strings.Repeat("x", 480) + key},
	}
	for _, reply := range replies {
		var told strings.Builder
		s := modeltest.New(reply)
		c := newClient(t, s, model.Options{Key: key, Redact: redact})
		got, err := c.Reply(t.Context(), question)
		fmt.Fprintf(&told, "%+v %v", got, err)
		for _, c := range got.Calls {
			told.Write(c.Args)
		}
		if strings.Contains(told.String(), key[:12]) || strings.Contains(told.String(), encoded[:12]) {
			t.Errorf("%+v: the key shows: %s", reply, &told)
		}
	}
	t.Logf("%d replies, 0 hits", len(replies))
}

// TestGzip: a compressed body is read, and a bomb is not: the limit counts what
// comes out of it.
func TestGzip(t *testing.T) {
	var bomb, small bytes.Buffer
	compress := func(to *bytes.Buffer, parts int, part []byte, end string) {
		w := gzip.NewWriter(to)
		for range parts {
			_, _ = w.Write(part) // a buffer takes all
		}
		_, _ = io.WriteString(w, end)
		w.Close()
	}
	compress(&bomb, 32, bytes.Repeat([]byte(": x\n"), 1<<18), stream(finish))
	compress(&small, 0, nil, stream(delta(`{"content":"ok"}`), finish))
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body) // the client goes when it has enough
	}))
	defer s.Close()
	c, err := model.NewClient(model.Options{BaseURL: s.URL, Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	body = small.Bytes()
	if got, err := c.Reply(t.Context(), question); err != nil || got.Text != "ok" {
		t.Errorf("compressed: %v %v", got, err)
	}
	body = bomb.Bytes()
	if _, err := c.Reply(t.Context(), question); err == nil || !strings.Contains(err.Error(), "reply is larger than 4194304 bytes") {
		t.Errorf("bomb of %d bytes: %v", len(body), err)
	}
}
