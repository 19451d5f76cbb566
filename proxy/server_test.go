//lint:file-ignore SA1019 what is deprecated is passed on too

package proxy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const pixel = "GIF89a\x01\x00\x01\x00\x00\x00\x00;"

// fullServer has every feature of the protocol.
func fullServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "full", Title: "Full", Version: "1.2.3"}, &sdk.ServerOptions{
		Instructions: "Use it well.", PageSize: 4,
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "!"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		Capabilities:       &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}},
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Hello " + r.Params.Arguments["who"]}}}}, nil
	})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
	}
	s.AddResource(&sdk.Resource{Name: "a", URI: "test://a"}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "t", URITemplate: "test://t/{x}"}, read)
	addTools(s)
	return s
}

// addTools adds a tool for each thing that a tool can do.
func addTools(s *sdk.Server) {
	add := func(name, properties string, run func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var args map[string]any
				if err := json.Unmarshal(r.Params.Arguments, &args); len(r.Params.Arguments) > 0 && err != nil {
					return nil, err
				}
				return run(ctx, r, args)
			})
	}
	say := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	add("arguments", `"a":{},"z":{}`, func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		return say(string(r.Params.Arguments)), nil
	})
	add("own", `"task_scratchpad":{"type":"string"}`, func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		return say(string(r.Params.Arguments)), nil
	})
	add("big", `"n":{"type":"integer"},"word":{"type":"string"}`, func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
		n, _ := args["n"].(float64)
		word, _ := args["word"].(string)
		return say(strings.Repeat(word+"\n", int(n))), nil
	})
	add("fail", ``, func(_ context.Context, _ *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		res := say(strings.Repeat("no such file\n", 1000))
		res.IsError = true
		return res, nil
	})
	add("picture", `"bytes":{"type":"integer"},"type":{"type":"string"}`, func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
		n, _ := args["bytes"].(float64)
		kind, _ := args["type"].(string)
		res := say("a picture")
		data := []byte(pixel + strings.Repeat("\x00", int(n)))
		if kind == "" {
			res.Content = append(res.Content, &sdk.ImageContent{Data: data, MIMEType: "image/gif"})
		} else {
			res.Content = append(res.Content, &sdk.AudioContent{Data: data, MIMEType: kind})
		}
		return res, nil
	})
	add("progress", ``, func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3})
			if err != nil {
				return nil, err
			}
		}
		return say("done"), nil
	})
	add("wait", ``, func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "error", Data: "waiting"})
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("ask", ``, func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		sample, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 5, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "q"}}}})
		if err != nil {
			return nil, err
		}
		form, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		return say(fmt.Sprintf("%s, %s, %v", roots.Roots[0].URI, sample.Content.(*sdk.TextContent).Text, form.Content["name"])), nil
	})
	add("change", `"what":{"type":"string"}`, func(ctx context.Context, r *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
		switch args["what"] {
		case "resource":
			s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test://a"})
		case "prompts":
			s.AddPrompt(&sdk.Prompt{Name: "second"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				return &sdk.GetPromptResult{}, nil
			})
		}
		return say("changed"), nil
	})
	s.AddTool(&sdk.Tool{
		Name: "structured", InputSchema: json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"required":["rows"],"additionalProperties":false,"$defs":{"row":{"type":"integer"}}}`),
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ N int }
		json.Unmarshal(r.Params.Arguments, &args)
		rows := make([]int, args.N)
		text, _ := json.Marshal(map[string]any{"rows": rows})
		return &sdk.CallToolResult{StructuredContent: json.RawMessage(text), Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "blob", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		data, _ := base64.StdEncoding.DecodeString(strings.Repeat("AAAA", 5000))
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://b", MIMEType: "application/x-thing", Blob: data}}}}, nil
	})
}
