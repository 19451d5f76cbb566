package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// brief answers each request with a stream that ends after one event.
type brief struct{ asked, open int }

func (b *brief) RoundTrip(*http.Request) (*http.Response, error) {
	text := fmt.Sprintf("id: %d\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", b.asked)
	b.asked, b.open = b.asked+1, b.open+1
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: counted{strings.NewReader(text), &b.open},
	}, nil
}

type counted struct {
	io.Reader
	open *int
}

func (c counted) Close() error {
	*c.open--
	return nil
}

// TestResume: of a stream that is taken up again and again one piece is open.
func TestResume(t *testing.T) {
	p := newRig(t).Proxy
	p.prepare()
	p.URL = at("http://server.example/")
	server := &brief{}
	p.trip = server
	r := p.dial(t.Context(), p.newSession(), func([]byte) {}).(*remote)
	defer r.cancel(errors.New("over"))
	resp, err := r.get(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	err = r.stream(t.Context(), resp.Body, func() bool {
		if server.open > 1 {
			t.Errorf("%d pieces are open", server.open)
		}
		return server.asked < 4
	})
	if err != nil || server.open != 0 {
		t.Errorf("ended with %v, %d pieces are open", err, server.open)
	}
}
