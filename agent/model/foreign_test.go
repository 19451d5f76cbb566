package model_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent/model"
)

// aimock starts a server of others that speaks all three APIs, and gives its address.
func aimock(t *testing.T) string {
	t.Helper()
	npm := filepath.Join("..", "..", "tools", "mcp", "testdata", "npm", "node_modules")
	node, _ := filepath.Glob(filepath.Join(npm, "node-linux-*", "bin", "node"))
	script := filepath.Join(npm, "@copilotkit", "aimock", "dist", "cli.js")
	if _, err := os.Stat(script); err != nil || len(node) == 0 {
		t.Skip("aimock is not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm (Linux)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server := exec.CommandContext(ctx, node[0], script, "--strict", "-p", "0", "-f", filepath.Join("testdata", "aimock.json"))
	out, err := server.StdoutPipe()
	if err != nil || server.Start() != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // it is killed
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			return url + "/v1"
		}
	}
	t.Fatal("aimock does not listen")
	return ""
}

// TestAimock: two calls, their results with what the model thought, and a refusal, by
// each API, streamed and not. It refuses thinking that comes back otherwise.
func TestAimock(t *testing.T) {
	url := aimock(t)
	for _, api := range []string{model.Chat, model.Responses, model.Messages} {
		for _, plain := range []bool{false, true} {
			opt := model.Options{BaseURL: url, API: api, Plain: plain, Name: "gpt-5", MaxOutput: 2000}
			if api == model.Messages {
				opt.Style = `{"extra":{"thinking":{"type":"enabled","budget_tokens":1024}}}`
			}
			c, err := model.NewClient(opt)
			if err != nil {
				t.Fatal(err)
			}
			req := model.Request{Messages: []model.Message{{Role: model.System, Content: "rules"}, {Role: model.User, Content: "go"}}, Tools: native().Tools}
			reply, err := c.Reply(t.Context(), req)
			kept := strings.Contains(string(reply.Kept), map[string]string{model.Responses: "encrypted_content", model.Messages: `"signature":"Ev=="`}[api])
			if err != nil || reply.Text != "I look" || len(reply.Calls) != 2 || string(reply.Calls[1].Args) != `{"message":"2"}` || reply.Finish != "tool_calls" || !kept {
				t.Fatalf("%s, plain %v: %+v, %v", api, plain, reply, err)
			}
			req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Content: reply.Text, Calls: reply.Calls, Kept: reply.Kept})
			for _, call := range reply.Calls {
				req.Messages = append(req.Messages, model.Message{Role: model.Result, Call: call.ID, Content: `{"ok":true}`})
			}
			reply, err = c.Reply(t.Context(), req)
			if err != nil || reply.Text != "Grüße, 世界 🌍" || reply.Usage.Input != 30 || reply.Usage.Output != 9 || reply.Finish != "stop" {
				t.Errorf("%s, plain %v: %+v, %v", api, plain, reply, err)
			}
			req.Messages[2].Kept = json.RawMessage(`[{"type":"thinking","thinking":"hm","signature":""}]`)
			if _, err := c.Reply(t.Context(), req); (err != nil) != (api == model.Messages) {
				t.Errorf("%s: without its signature: %v", api, err)
			}
			req.Messages[1].Content, req.Messages = "slow", req.Messages[:2]
			if _, err := c.Reply(t.Context(), req); err == nil || !strings.Contains(err.Error(), "429 Too Many Requests: slow down") {
				t.Errorf("%s: %v", api, err)
			}
		}
	}
}
