//lint:file-ignore SA1019 what is deprecated is passed on too

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// heard is what a client was told unasked.
type heard struct {
	mu   sync.Mutex
	list []string
}

func (h *heard) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, fmt.Sprintf(format, args...))
}

func (h *heard) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.list, text)
}

// await waits until the client was told of something.
func (h *heard) await(t testing.TB, text string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 30_000 {
		if h.has(text) {
			return
		}
		<-tick.C
	}
	t.Errorf("was not told %q, but %q", text, h.list)
}

// connect makes a client with every feature and connects it.
func connect(t testing.TB, transport sdk.Transport) (*sdk.ClientSession, *heard) {
	t.Helper()
	return connectAt(t, transport, "/root")
}

// connectAt is connect for a client whose root is another folder.
func connectAt(t testing.TB, transport sdk.Transport, root string) (*sdk.ClientSession, *heard) {
	t.Helper()
	h := &heard{}
	c := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, &sdk.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &sdk.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		ToolListChangedHandler:   func(context.Context, *sdk.ToolListChangedRequest) { h.add("tools changed") },
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { h.add("prompts changed") },
		ResourceUpdatedHandler:   func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { h.add("updated %s", r.Params.URI) },
		LoggingMessageHandler:    func(_ context.Context, r *sdk.LoggingMessageRequest) { h.add("log %v", r.Params.Data) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			h.add("progress %v of %v", r.Params.Progress, r.Params.Total)
		},
	})
	c.AddRoots(&sdk.Root{URI: "file://" + root})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	s, err := c.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, h
}

// script uses every feature and writes down what it gets.
func script(t testing.TB, s *sdk.ClientSession, h *heard) (lines []string) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	add := func(what string, v any, err error) {
		text, _ := json.Marshal(v)
		lines = append(lines, fmt.Sprintf("%s: %s, %v", what, text, err))
	}
	init := *s.InitializeResult()
	add("initialize", init, nil)
	add("ping", nil, s.Ping(ctx, nil))
	add("set level", nil, s.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "error"}))
	for r, err := range s.Resources(ctx, nil) {
		add("resource", r, err)
	}
	for r, err := range s.ResourceTemplates(ctx, nil) {
		add("template", r, err)
	}
	for r, err := range s.Prompts(ctx, nil) {
		add("prompt", r, err)
	}
	read, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "test://t/7"})
	add("read", read, err)
	missing, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "test://no"})
	add("read what is not there", missing, err)
	prompt, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "you"}})
	add("get prompt", prompt, err)
	complete, err := s.Complete(ctx, &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: sdk.CompleteParamsArgument{Name: "who", Value: "y"}})
	add("complete", complete, err)
	add("subscribe", nil, s.Subscribe(ctx, &sdk.SubscribeParams{URI: "test://a"}))
	call := func(name, args string, meta sdk.Meta) {
		p := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args), Meta: meta}
		res, err := s.CallTool(ctx, p)
		add(name+" "+args, res, err)
	}
	call("change", `{"what":"resource"}`, nil)
	h.await(t, "updated test://a")
	call("change", `{"what":"prompts"}`, nil)
	h.await(t, "prompts changed")
	call("arguments", `{"z": 12345678901234567890, "a":  [1.0, "é\u00e9"]}`, nil)
	call("no such tool", `{}`, nil)
	call("big", `{"n":"many"}`, nil)
	call("progress", `{}`, sdk.Meta{"progressToken": "p"})
	h.await(t, "progress 2 of 3")
	call("ask", `{}`, nil)
	call("picture", `{"bytes":100000}`, nil)
	call("structured", `{"n":3}`, nil)
	waiting, cancel := context.WithCancel(ctx)
	go func() {
		h.await(t, "log waiting")
		cancel()
	}()
	_, err = s.CallTool(waiting, &sdk.CallToolParams{Name: "wait"})
	add("wait", nil, err)
	add("unsubscribe", nil, s.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: "test://a"}))
	return lines
}

// TestFeatures uses a server with every feature directly and through the proxy,
// in all combinations of transports, and wants to be told the same, word for word.
func TestFeatures(t *testing.T) {
	all := ways()
	session, h := connect(t, all["stdio directly"](t))
	want := script(t, session, h)
	if len(want) < 20 {
		t.Fatalf("only %d lines:\n%s", len(want), strings.Join(want, "\n"))
	}
	for name, way := range all {
		t.Run(name, func(t *testing.T) {
			session, h := connect(t, way(t))
			if diff := cmp.Diff(want, script(t, session, h)); diff != "" {
				t.Errorf("(-directly +%s):\n%s", name, diff)
			}
		})
	}
	t.Logf("%d things used in %d ways", len(want), len(all))
}

// TestStateless is the same for clients of 2026-07-28, which have no session.
func TestStateless(t *testing.T) {
	for name, way := range map[string]over{
		"http directly": func(t testing.TB) sdk.Transport { return &sdk.StreamableClientTransport{Endpoint: web(t, true)} },
		"http to http": func(t testing.TB) sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: before(t, web(t, true)).listening()}
		},
		"stdio to http":  func(t testing.TB) sdk.Transport { return before(t, web(t, true)).stdio() },
		"stdio to stdio": func(t testing.TB) sdk.Transport { return newRig(t, serverVariable+"=1").stdio() },
		"http to stdio": func(t testing.TB) sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: newRig(t, serverVariable+"=1").listening()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &heard{}
			c := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, &sdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { h.add("tools changed") },
			})
			s, err := c.Connect(t.Context(), way(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			version := s.InitializeResult().ProtocolVersion
			if (version >= stateless) != (name != "http to stdio") {
				t.Errorf("version %s", version)
			}
			res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "big", Arguments: map[string]any{"n": 3000, "word": "word"}})
			if err != nil {
				t.Fatal(err)
			}
			parked := strings.Contains(textOf(res), "scratchpad_id")
			if parked == strings.HasSuffix(name, "directly") {
				t.Errorf("parked: %v", parked)
			}
			if parked {
				list, err := s.ListTools(t.Context(), nil)
				for err == nil && list.NextCursor != "" {
					list, err = s.ListTools(t.Context(), &sdk.ListToolsParams{Cursor: list.NextCursor})
				}
				if err != nil || list.Tools[len(list.Tools)-1].Name != readName {
					t.Errorf("%v, %v", list, err)
				}
			}
		})
	}
}

func textOf(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}
