package model_test

import (
	"testing"

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
