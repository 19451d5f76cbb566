package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"rouse/agent/model"
)

// FuzzBody: whatever a body holds, and however it ends, there is no panic and no
// hang, and an answer only where the body has a finish reason, or an end mark behind
// a whole call. The answer is the
// same however the bytes arrive, and JSON can hold it.
func FuzzBody(f *testing.F) {
	seeds := []string{
		"", "{}", "<html>", "\ufeff\n:\n",
		stream(delta(`{"content":"ok"}`), finish, mark),
		stream(delta(`{"content":[{"type":"text","text":"\ud800"}]}`), `{"error":{"message":"m","code":529}}`),
		stream(toolCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}},{"id":"a","function":{"arguments":{}}}`), finish),
		`{"choices":[{"message":{"content":null,"tool_calls":[{}]},"finish_reason":"length"}],"usage":{"prompt_tokens":1e9}}`,
		stream(toolCalls(`{"id":"a","function":{"name":"f","arguments":"{}"}}`), mark), `{"error":{"code":"tool_use_failed","failed_generation":"{"}}`,
		"data:{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\r\nevent: x\ndata: [DONE]",
	}
	for _, seed := range seeds {
		f.Add([]byte(seed), byte(0))
		f.Add([]byte(seed), byte(3))
	}
	for _, s := range shapes(f) {
		f.Add([]byte(s.body), byte(4*slices.Index(fuzzed, s.api)))
	}
	f.Fuzz(func(t *testing.T, body []byte, mode byte) {
		first, err := fuzzReply(t, body, mode, func(r io.Reader) io.Reader { return r })
		second, err2 := fuzzReply(t, body, mode, iotest.OneByteReader)
		if (err == nil) != (err2 == nil) || err == nil && !equalJSON(t, first, second) {
			t.Fatalf("in one piece %v %v, in single bytes %v %v", first, err, second, err2)
		}
		told := first.Warning != "" && bytes.Contains(body, []byte("[DONE]")) || first.Finish == model.Unreadable
		if err == nil && first.Finish == "" && first.Warning == "" {
			t.Fatalf("an answer without an end: %+v", first)
		}
		if err == nil && mode&12 == 0 && !told && (first.Finish == "" || !bytes.Contains(bytes.ToLower(body), []byte("finish_reason")) && !strings.Contains(string(body), `\u`)) {
			// JSON keys are matched in any case, and may be written in escapes.
			t.Fatalf("an answer without a finish reason: %+v", first)
		}
	})
}

// fuzzed are the APIs by the third and fourth bit of a mode.
var fuzzed = []string{model.Chat, model.Responses, model.Messages, model.Auto}

func fuzzReply(t *testing.T, body []byte, mode byte, arrive func(io.Reader) io.Reader) (model.Reply, error) {
	c, err := model.NewClient(model.Options{
		BaseURL: "http://127.0.0.1/v1", API: fuzzed[mode>>2&3], MaxReply: 1 << 16,
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			var end error
			if mode&1 != 0 {
				end = io.ErrUnexpectedEOF
			}
			resp := response(r, string(body), end)
			resp.Body = io.NopCloser(arrive(resp.Body))
			if mode&2 != 0 {
				resp.StatusCode = 400 + int(mode)
			}
			return resp, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := c.Reply(ctx, question)
	if ctx.Err() != nil {
		t.Fatal("hangs")
	}
	if err != nil && (len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n")) {
		t.Fatalf("not a line: %q", err)
	}
	return reply, err
}

func equalJSON(t *testing.T, a, b model.Reply) bool {
	one, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, two)
}
