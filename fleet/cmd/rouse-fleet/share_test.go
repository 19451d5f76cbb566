package main

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"rouse/agent/model/modeltest"
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
	s := modeltest.Answer(func(modeltest.Request) modeltest.Reply {
		all, err := os.ReadFile(replies)
		line, rest, more := bytes.Cut(all, []byte("\n"))
		if err = cmp.Or(err, os.WriteFile(replies, rest, 0o600)); err != nil || !more {
			return modeltest.Reply{Status: http.StatusBadRequest, Text: "no more replies"}
		}
		return modeltest.Reply{Action: line}
	})
	ts.Defer(s.Close)
	ts.Check(os.WriteFile(ts.MkAbs("keys/.env"), []byte("OPENAI_API_KEY=x\nOPENAI_BASE_URL="+s.URL()+"\n"), 0o600))
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
