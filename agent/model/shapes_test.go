package model_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"rouse/agent/model"
	"rouse/internal/sweep"
)

// shape is what a server sends and what comes of it; see testdata/shapes.txtar.
type shape struct {
	name, api, body string
	want            shapeReply
}

type shapeReply struct {
	model.Reply
	Error string
	Again bool
}

func shapes(t testing.TB) (list []shape) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "shapes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		s := shape{name: f.Name}
		s.api, _, _ = strings.Cut(f.Name, ":")
		text, want, _ := strings.Cut(string(f.Data), "=> ")
		if err := json.Unmarshal([]byte(want), &s.want); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for line := range strings.Lines(text) {
			if (line[0] == '{' || line[0] == '[') && !strings.Contains(f.Name, "plain") {
				line = "data: " + line + "\n"
			}
			s.body += line
		}
		list = append(list, s)
	}
	return list
}

// ask gives what comes of a body that arrives so, and whether it may be asked again.
func (s shape) ask(t *testing.T, body io.Reader) (reply model.Reply, again bool, err error) {
	t.Helper()
	c, err := model.NewClient(model.Options{
		BaseURL: "http://127.0.0.1/v1", API: s.api, Retries: 1,
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first error
	reply, err = c.Reply(ctx, asking(func(_ int, _ time.Duration, err error) {
		first, again = err, true
		cancel()
	}))
	if first != nil {
		err = first
	}
	reply.Form = ""
	return reply, again, err
}

func (s shape) check(t *testing.T, how string, got model.Reply, again bool, err error) {
	t.Helper()
	if s.want.Error != "" {
		if err == nil || !strings.Contains(err.Error(), s.want.Error) || again != s.want.Again {
			t.Errorf("%s: %+v, %v, again %v", how, got, err, again)
		}
	} else if diff := cmp.Diff(s.want.Reply, got); diff != "" || err != nil {
		t.Errorf("%s: %v\n%s", how, err, diff)
	} else if _, err := json.Marshal(got); err != nil {
		t.Errorf("%s: a reply that no journal can hold: %v", how, err)
	}
}

// TestShapes: each is the reply that it is, however it arrives. One that is cut behind
// any byte is that reply, too, or is asked for again: never half of it.
func TestShapes(t *testing.T) {
	every, cuts := sweep.Of(13, 1, 1), 0
	for _, s := range shapes(t) {
		t.Run(s.name, func(t *testing.T) {
			for how, body := range map[string]io.Reader{
				"whole": strings.NewReader(s.body), "in bytes": iotest.OneByteReader(strings.NewReader(s.body)),
				"CRLF": strings.NewReader(strings.ReplaceAll(s.body, "\n", "\r\n")),
			} {
				got, again, err := s.ask(t, body)
				s.check(t, how, got, again, err)
			}
			for n := len(s.body) % every; n < len(s.body); n += every {
				for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
					cuts++
					got, again, err := s.ask(t, io.MultiReader(strings.NewReader(s.body[:n]), errReader{end}))
					if err == nil {
						if s.want.Usage != got.Usage && s.api == model.Chat {
							got.Usage = s.want.Usage // which comes behind the end
						}
						s.check(t, "cut", got, again, err)
					} else if !again && !strings.Contains(err.Error(), s.want.Error) {
						t.Errorf("cut behind %d bytes by %v: %v", n, end, err)
					}
				}
			}
		})
	}
	t.Logf("%d cuts", cuts)
}
