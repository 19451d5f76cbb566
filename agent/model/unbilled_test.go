package model_test

import (
	"context"
	"net"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

func TestUnbilled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	tests := []struct {
		name  string
		reply modeltest.Reply
		url   string
		want  bool
	}{
		{"refused", modeltest.Reply{Status: 429}, "", true},
		{"server error", modeltest.Reply{Status: 503}, "", true},
		{"broken off", modeltest.Reply{Text: "half of it", Cut: 20}, "", false},
		{"redirected", modeltest.Reply{Status: 307, Headers: map[string]string{"Location": "http://elsewhere.example/v1"}}, "", true},
		{"no server", modeltest.Reply{}, closed, true},
	}
	for _, tt := range tests {
		s := modeltest.New(tt.reply)
		url := s.URL()
		if tt.url != "" {
			url = tt.url
		}
		c, err := model.NewClient(model.Options{BaseURL: url, Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Reply(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Content: "hi"}}})
		if err == nil || model.Unbilled(err) != tt.want {
			t.Errorf("%s: %v, unbilled %v", tt.name, err, model.Unbilled(err))
		}
		s.Close()
	}
	if model.Unbilled(context.Canceled) || model.Unbilled(nil) {
		t.Error("what is no refusal counts as one")
	}
}
