package model_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// BenchmarkReply is one reply in 60 events over loopback. Beside it, net/http
// alone makes the same request and reads the body without decoding it.
func BenchmarkReply(b *testing.B) {
	s := modeltest.New(modeltest.Reply{Body: strings.Repeat(stream(delta(`{"content":"a word or two "}`)), 60) + stream(finish, mark), Repeat: true})
	defer s.Close()
	b.Run("client", func(b *testing.B) {
		c, err := model.NewClient(model.Options{BaseURL: s.URL(), Name: "test"})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Reply(b.Context(), question); err != nil {
				b.Fatal(err)
			}
		}
	})
	body := s.Requests()
	b.Run("net-http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Post(s.URL()+"/chat/completions", "application/json", bytes.NewReader(body[0].Body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
	})
}
