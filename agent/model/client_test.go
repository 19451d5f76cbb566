package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

var question = model.Request{Messages: []model.Message{
	{Role: model.System, Content: "rules"}, {Role: model.User, Content: ""},
}}

// newClient makes a client of a fake server, which needs no key.
func newClient(t *testing.T, s *modeltest.Server, opt model.Options) *model.Client {
	t.Helper()
	t.Cleanup(s.Close)
	opt.BaseURL = s.URL()
	if opt.Name == "" {
		opt.Name = "test"
	}
	c, err := model.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReply(t *testing.T) {
	usage := model.Usage{Input: 10, Cached: 8, Output: 2}
	calls := []model.Call{
		{ID: "a", Name: "shell", Args: json.RawMessage(`{"command":"a rather long command, in pieces"}`)},
		{ID: "b", Name: "echo", Args: json.RawMessage(`{}`)},
	}
	tests := []struct {
		name  string
		reply modeltest.Reply
		want  model.Reply
	}{
		{"stream", modeltest.Reply{Text: "a text that is sent in some pieces", Usage: &usage},
			model.Reply{Text: "a text that is sent in some pieces", Usage: usage, Finish: "stop"}},
		{"empty", modeltest.Reply{}, model.Reply{Finish: "stop"}},
		{"length", modeltest.Reply{Text: "half", Finish: "length"}, model.Reply{Text: "half", Finish: "length"}},
		{"calls", modeltest.Reply{Calls: calls}, model.Reply{Calls: calls, Finish: "tool_calls"}},
		{"plain", modeltest.Reply{Text: "x", Calls: calls, Usage: &usage, Stream: new(false)},
			model.Reply{Text: "x", Calls: calls, Usage: usage, Finish: "tool_calls"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, modeltest.New(tt.reply), model.Options{})
			got, err := c.Reply(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
