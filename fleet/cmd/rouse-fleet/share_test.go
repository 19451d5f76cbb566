package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"rouse/fleet/store"
	"rouse/fleet/worker"
)

// model is one for the worker of a script, which makes the calls in a file, one a line.
func model(ts *testscript.TestScript, _ bool, args []string) {
	replies := ts.MkAbs("replies")
	ts.Check(os.WriteFile(replies, []byte(ts.ReadFile(args[0])), 0o600))
	if os.Mkdir(ts.MkAbs("keys"), 0o700) != nil {
		return // it is there
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var call struct {
			Tool string
			Args json.RawMessage
		}
		all, err := os.ReadFile(replies)
		line, rest, _ := bytes.Cut(all, []byte("\n"))
		if err = cmp.Or(err, json.Unmarshal(line, &call), os.WriteFile(replies, rest, 0o600)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		args, _ := json.Marshal(string(call.Args))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"object":"chat.completion.chunk","model":"gpt-5-mini","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":%q,"arguments":%s}}]}}]}`+"\n\n", call.Tool, args)
		fmt.Fprint(w, `data: {"object":"chat.completion.chunk","model":"gpt-5-mini","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n")
	}))
	ts.Defer(s.Close)
	ts.Check(os.WriteFile(ts.MkAbs("keys/.env"), []byte("OPENAI_API_KEY=x\nOPENAI_BASE_URL="+s.URL+"\n"), 0o600))
}

// wake has a worker visit a home, whose folder is a/NAME, until it has nothing to do there.
func wake(ts *testscript.TestScript, _ bool, args []string) {
	s, err := store.Open(context.Background(), ts.Getenv("ROUSE_FLEET_DSN"))
	ts.Check(err)
	defer s.Close()
	bin, _, _ := strings.Cut(ts.Getenv("PATH"), ":")
	w := &worker.Worker{Store: s, Name: "a", Dir: ts.MkAbs("a"), Keys: ts.MkAbs("keys"), Rouse: filepath.Join(bin, "rouse"), Log: func(line string) { ts.Logf("%s", line) }}
	for range 3 { // orders, a cycle, and nothing
		_, err := w.Wake(context.Background(), args[0])
		ts.Check(err)
	}
}
