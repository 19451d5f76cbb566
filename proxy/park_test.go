package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/dispatcher"
	"rouse/tools"
)

func callTool(t testing.TB, s *sdk.ClientSession, name string, args map[string]any) *sdk.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func allTools(t testing.TB, s *sdk.ClientSession) (list []*sdk.Tool) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool)
	}
	return list
}

func names(list []*sdk.Tool) (names []string) {
	for _, tool := range list {
		names = append(names, tool.Name)
	}
	return names
}

// view is the synthetic view in a result.
func view(t testing.TB, res *sdk.CallToolResult) (o dispatcher.Observation) {
	t.Helper()
	if err := json.Unmarshal([]byte(res.Content[0].(*sdk.TextContent).Text), &o); err != nil {
		t.Fatalf("%v in %.300s", err, textOf(res))
	}
	return o
}

// TestNotes: each tool asks for a note, none is passed on, and what has a
// parameter of that name keeps it.
func TestNotes(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	s, _ := connect(t, r.stdio())
	for _, tool := range allTools(t, s) {
		schema := decode(t, tool.InputSchema)
		if required := slices.Contains(schema.Required, tools.NoteParam); required == (tool.Name == "own") {
			t.Errorf("%s: required %v", tool.Name, schema.Required)
		}
	}
	for _, tt := range []struct{ tool, args, want string }{
		{"arguments", `{"a":1,"task_scratchpad":"order 4711 costs 9.50","z":2}`, `{"a":1,"z":2}`},
		{"arguments", `{"a":1,"task_scratchpad":"order 4711 costs 9.50"}`, `{"a":1}`},
		{"arguments", `{"a":1}`, `{"a":1}`},
		{"arguments", `{"task_scratchpad":["of a wrong type"]}`, `{}`},
		{"arguments", `{"task_scratchpad":"the key is ` + secret + `"}`, `{}`},
		{"own", `{"task_scratchpad":"mine"}`, `{"task_scratchpad":"mine"}`},
	} {
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tt.tool, Arguments: json.RawMessage(tt.args)})
		if err != nil || textOf(res) != tt.want {
			t.Errorf("%s %s: got %v, %v", tt.tool, tt.args, res, err)
		}
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "arguments"}); err != nil {
		t.Errorf("no arguments: %v", err)
	}
	s.Close()
	r.Close()
	log := r.notes()
	for _, want := range []string{`"step":1,"tool":"arguments","text":"order 4711 costs 9.50"`, `"text":"the key is [REDACTED:PASS]"`, `"event":"end","calls":7,"empty_notes":4,"parked":0`} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is not in\n%s", want, log)
		}
	}
	if strings.Contains(log, secret) || strings.Count(log, "\n") != 3 {
		t.Errorf("log\n%s", log)
	}
}

func decode(t testing.TB, schema any) *jsonschema.Schema {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestParking: a large result is a view, the rest is read with a tool that is
// there from then on.
func TestParking(t *testing.T) {
	for name, way := range map[string]func(*rig) sdk.Transport{
		"stdio": (*rig).stdio,
		"http":  func(r *rig) sdk.Transport { return &sdk.StreamableClientTransport{Endpoint: r.listening()} },
		"http to http": func(r *rig) sdk.Transport {
			r.URL = at(web(t, false))
			return &sdk.StreamableClientTransport{Endpoint: r.listening()}
		},
		"http to http that answers in one piece": func(r *rig) sdk.Transport {
			server := fullServer()
			s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{JSONResponse: true}))
			t.Cleanup(func() {
				s.CloseClientConnections()
				s.Close()
			})
			r.URL = at(s.URL)
			return &sdk.StreamableClientTransport{Endpoint: r.listening()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, serverVariable+"=1")
			s, h := connect(t, way(r))
			before := names(allTools(t, s))
			if small := callTool(t, s, "big", map[string]any{"n": 10, "word": "word"}); textOf(small) != strings.Repeat("word\n", 10) {
				t.Errorf("small: %v", small)
			}
			o := view(t, callTool(t, s, "big", map[string]any{"n": 3000, "word": "word"}))
			if len(o.ScratchpadID) != 16 || o.SizeBytes != 15000 || !o.OK || !strings.Contains(o.Summary, "[... 14000 characters omitted ...]") || !strings.Contains(o.Note, readName) {
				t.Errorf("%+v", o)
			}
			if after := names(allTools(t, s)); !slices.Equal(after, before) || after[len(after)-1] != readName || h.has("tools changed") {
				t.Errorf("tools %v, then %v", before, after)
			}
			res := callTool(t, s, readName, map[string]any{"scratchpad_id": o.ScratchpadID, "mode": "lines", "start": 2999, "task_scratchpad": "x"})
			if res.IsError || len(res.Content) != 2 || res.Content[0].(*sdk.TextContent).Text != "word\nword\n" || !strings.Contains(res.Content[1].(*sdk.TextContent).Text, `"total":3000`) {
				t.Errorf("read: %s", textOf(res))
			}
			for args, want := range map[string]string{`{}`: "scratchpad_id", `{"scratchpad_id":"0000000000000000"}`: "no such observation", `{"scratchpad_id":"` + o.ScratchpadID + `","mode":"full"}`: ""} {
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: readName, Arguments: json.RawMessage(args)})
				if err != nil || res.IsError == (want == "") || !strings.Contains(textOf(res), want) {
					t.Errorf("%s: %v %v", args, res, err)
				}
			}
		})
	}
}

// TestResults is what becomes of results of every kind.
func TestResults(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	s, _ := connect(t, r.stdio())
	failed := callTool(t, s, "fail", nil)
	if o := view(t, failed); !failed.IsError || o.OK || !strings.HasPrefix(o.Summary, "no such file") || strings.Contains(o.Error, "no such file") || o.ScratchpadID == "" {
		t.Errorf("failed: %+v", o)
	}
	if res := callTool(t, s, "picture", map[string]any{"bytes": 100_000}); len(res.Content) != 2 || textOf(res) != "a picture" {
		t.Errorf("a picture: %d contents, %s", len(res.Content), textOf(res))
	}
	big := callTool(t, s, "picture", map[string]any{"bytes": 2 << 20})
	if o := view(t, big); len(big.Content) != 1 || o.Metadata["media"] == nil {
		t.Errorf("a large picture: %+v", o)
	}
	for _, res := range []*sdk.CallToolResult{callTool(t, s, "picture", map[string]any{"bytes": 50_000, "type": "audio/wav"}), callTool(t, s, "blob", nil)} {
		o := view(t, res)
		media, _ := o.Metadata["media"].([]any)
		if len(media) != 1 || len(media[0].(map[string]any)["scratchpad_id"].(string)) != 16 || o.Note == "" {
			t.Errorf("binary: %+v", o)
		}
	}
	structured := callTool(t, s, "structured", map[string]any{"n": 5000})
	o := view(t, structured)
	if o.Kind != "json" || structured.StructuredContent == nil {
		t.Errorf("structured: %+v", o)
	}
	res := callTool(t, s, readName, map[string]any{"scratchpad_id": o.ScratchpadID, "mode": "json", "query": ".rows | length"})
	if !strings.HasPrefix(textOf(res), "5000") {
		t.Errorf("query: %s", textOf(res))
	}
	for _, tool := range allTools(t, s) {
		if tool.OutputSchema == nil {
			continue
		}
		resolved, err := decode(t, tool.OutputSchema).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		small := callTool(t, s, "structured", map[string]any{"n": 2}).StructuredContent
		for _, v := range []any{structured.StructuredContent, small} {
			if err := resolved.Validate(v); err != nil {
				t.Errorf("%v does not fit: %v", v, err)
			}
		}
		if resolved.Validate(map[string]any{"rows": []any{"x"}}) == nil {
			t.Error("the schema accepts what it did not")
		}
	}
}

// TestNothingIsLostWithoutAStore: what cannot be kept passes as it is.
func TestNothingIsLostWithoutAStore(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	r.store.Close()
	s, _ := connect(t, r.stdio())
	want := strings.Repeat("word\n", 9000)
	for range 2 {
		if got := textOf(callTool(t, s, "big", map[string]any{"n": 9000, "word": "word"})); got != want {
			t.Errorf("%d bytes, %.300s", len(got), got)
		}
	}
	if said := r.stderr.String(); strings.Count(said, "large results pass as they are") != 1 {
		t.Errorf("said %q", said)
	}
}

// TestModeOff adds nothing to the tools.
func TestModeOff(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	r.Mode = tools.NoteOff
	s, _ := connect(t, r.stdio())
	for _, tool := range allTools(t, s) {
		if _, ok := decode(t, tool.InputSchema).Properties[tools.NoteParam]; ok != (tool.Name == "own") {
			t.Errorf("%s: %v", tool.Name, ok)
		}
	}
	if got := textOf(callTool(t, s, "arguments", map[string]any{"a": 1})); got != `{"a":1}` {
		t.Error(got)
	}
}

// TestCanary lets a secret come from everywhere, and looks for it in everything
// that is kept.
func TestCanary(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	s, _ := connect(t, r.stdio())
	o := view(t, callTool(t, s, "big", map[string]any{"n": 3000, "word": "a " + secret, "task_scratchpad": "saw " + secret}))
	if strings.Contains(o.Summary, secret) {
		t.Errorf("the view: %.200s", o.Summary)
	}
	whole := textOf(callTool(t, s, readName, map[string]any{"scratchpad_id": o.ScratchpadID, "n": 100_000}))
	callTool(t, s, "arguments", map[string]any{"a": secret, "task_scratchpad": strings.Repeat("x", maxNote-5) + secret})
	s.Close()
	r.Close()
	hits := strings.Count(whole+r.notes()+r.stderr.String(), secret[:12])
	files := 0
	for _, data := range contents(t, r.dir) {
		files++
		hits += strings.Count(data, secret[:12])
	}
	if hits > 0 || files < 3 {
		t.Errorf("%d hits in %d files", hits, files)
	}
	t.Logf("canary: %d hits / %d files, the notes, the view, the answer and stderr", hits, files)
}

// TestManyClients: each client over HTTP has a server of its own, and cannot read
// what is not its own unless it knows the id.
func TestManyClients(t *testing.T) {
	r := newRig(t, serverVariable+"=1")
	address := r.listening()
	first, _ := connect(t, &sdk.StreamableClientTransport{Endpoint: address})
	second, _ := connect(t, &sdk.StreamableClientTransport{Endpoint: address})
	view(t, callTool(t, first, "big", map[string]any{"n": 3000, "word": "word"}))
	done := make(chan error, 20)
	for i := range 20 {
		go func() {
			want := fmt.Sprintf(`{"a":%d}`, i)
			session := []*sdk.ClientSession{first, second}[i%2]
			res, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "arguments", Arguments: json.RawMessage(want)})
			if err == nil && textOf(res) != want {
				err = fmt.Errorf("got %s, want %s", textOf(res), want)
			}
			done <- err
		}()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
