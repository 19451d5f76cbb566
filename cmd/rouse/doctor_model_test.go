package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
)

// The doctor asks a model in each way, says which works, and how much it can read.
// A server that takes no tools is one that cycles ask in JSON.
func TestDoctorModel(t *testing.T) {
	r := newRig(t)
	echo := modeltest.Reply{Action: json.RawMessage(`{"tool":"echo","args":{"message":"rouse doctor"}}`), Usage: &model.Usage{Input: 90, Output: 20}}
	refused := modeltest.Reply{Status: 400, Text: "this model does not support tools"}
	replies := modeltest.New(refused, refused, echo, modeltest.Reply{Text: "What a nice test!"}, echo, echo, echo, echo)
	defer replies.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"data":[{"id":"gpt-5-mini","max_model_len":40960},{"id":"other","max_model_len":9}]}`)
			return
		}
		replies.ServeHTTP(w, q)
	}))
	defer server.Close()
	r.env = append(r.env, "OPENAI_BASE_URL="+server.URL+"/v1")

	o := r.rouse("doctor", "--model")
	for _, want := range []string{
		"tools, streamed: does not work: ", "tools: does not work: ", "json, streamed: works, in ", "90 tokens asked, 20 answered",
		"json: does not work: ", "auto: cycles ask by json", "40960 tokens; requests have at most 32000",
	} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	if o.code != 0 {
		t.Errorf("%+v", o)
	}
	for i, streamed := range []bool{true, false, true, false} {
		if got := strings.Contains(string(replies.Requests()[i].Body), `"stream":true`); got != streamed {
			t.Errorf("request %d: stream %v", i, got)
		}
	}

	r.write("rouse.yaml", "conversation: {max_tokens: 50000}\n")
	if o := r.rouse("doctor", "--model"); o.code != 1 || !strings.Contains(o.stdout, "cycles ask by tools") || !strings.Contains(o.stdout, "set conversation.max_tokens below 40960") {
		t.Errorf("%+v", o)
	}
}
