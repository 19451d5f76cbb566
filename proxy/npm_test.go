package proxy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

// direct connects to a command without a proxy.
func direct(t *testing.T, argv ...string) *sdk.ClientSession {
	r := newRig(t)
	r.Command = argv
	r.Mode = tools.NoteOff
	r.Threshold = 1 << 30 // changes nothing
	s, _ := connect(t, r.stdio())
	return s
}

// TestNpmServers compares servers that many people have with themselves through
// the proxy: the same tools but for the parameter, whose schemas accept what the
// server's own do, with a note beside it, and refuse the rest.
func TestNpmServers(t *testing.T) {
	node, everything := mcptest.NPM(t, "@modelcontextprotocol/server-everything/dist/index.js")
	_, files := mcptest.NPM(t, "@modelcontextprotocol/server-filesystem/dist/index.js")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "large.txt"), []byte(strings.Repeat("a line of it\n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string][]string{"everything": {node, everything, "stdio"}, "filesystem": {node, files, dir}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Command = argv
			s, _ := connectAt(t, r.stdio(), dir)
			plain := map[string]*sdk.Tool{}
			for _, tool := range allTools(t, direct(t, argv...)) {
				plain[tool.Name] = tool
			}
			list := allTools(t, s)
			if len(list) != len(plain) {
				t.Errorf("%d tools, %d directly", len(list), len(plain))
			}
			for _, tool := range list {
				checkDecorated(t, plain[tool.Name], tool)
			}
			if name == "filesystem" {
				useFiles(t, s, dir)
			} else if got := textOf(callTool(t, s, "echo", map[string]any{"message": "hi", "task_scratchpad": "a fact"})); got != "Echo: hi" {
				t.Error(got)
			}
			t.Logf("%d tools decorated", len(list))
		})
	}
}

func useFiles(t *testing.T, s *sdk.ClientSession, dir string) {
	res := callTool(t, s, "read_text_file", map[string]any{"path": filepath.Join(dir, "large.txt")})
	o := view(t, res)
	if o.ScratchpadID == "" || res.StructuredContent == nil {
		t.Errorf("%.500s", textOf(res))
	}
	found := callTool(t, s, readName, map[string]any{"scratchpad_id": o.ScratchpadID, "mode": "lines", "start": 4999, "end": 5000})
	if !strings.HasPrefix(textOf(found), "a line of it\n") {
		t.Errorf("%s", textOf(found))
	}
}

// checkDecorated holds a tool against what its server says of it.
func checkDecorated(t *testing.T, plain, decorated *sdk.Tool) {
	t.Helper()
	if plain == nil {
		t.Errorf("%s: there is no such tool", decorated.Name)
		return
	}
	before, after := resolved(t, plain.InputSchema), resolved(t, decorated.InputSchema)
	for _, args := range []map[string]any{{}, {"path": "x"}, {"message": "m"}, {"a": 1.0, "b": 2.0}, {"a": "x"}, {"paths": []any{"x"}}, {"nothing": 7.0}, {"message": 7.0}, {"duration": 1.0, "steps": 2.0}} {
		ok := before.Validate(args) == nil
		args[tools.NoteParam] = "a fact"
		if err := after.Validate(args); (err == nil) != ok {
			t.Errorf("%s %v: directly %v, decorated %v", plain.Name, args, ok, err)
		}
	}
	if d, p := *decorated, *plain; d.Description != p.Description || d.Title != p.Title || (d.OutputSchema == nil) != (p.OutputSchema == nil) {
		t.Errorf("%s changed", p.Name)
	}
	if decorated.OutputSchema != nil {
		resolved(t, decorated.OutputSchema)
	}
}

func resolved(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return r
}

// TestConformance has the official suite judge a conforming server directly and
// through the proxy, before its address and before its command.
func TestConformance(t *testing.T) {
	server := filepath.Join(t.TempDir(), "server")
	build(t, server)
	port := mcptest.FreePort(t)
	runner := &proc.Runner{Env: proc.Environ(os.Environ())}
	p, err := runner.Start(t.Context(), proc.Command{Argv: []string{server, "-http", "127.0.0.1:" + port, "-stateless=false"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(); p.Wait() })
	mcptest.Await(t, "127.0.0.1:"+port)
	address := "http://127.0.0.1:" + port + "/"
	command := newRig(t)
	command.Command = []string{server}
	ways := []struct{ name, address string }{{"the server alone", address}, {"the proxy before its address", before(t, address).listening()}, {"the proxy before its command", command.listening()}}
	var alone, most int
	for i, way := range ways {
		passed, failed, out := mcptest.Judge(t, nil, "server", "--suite", "all", "--url", way.address)
		if i == 0 {
			alone, most = passed, passed+failed
		} else if passed < alone {
			t.Errorf("%s loses checks:\n%s", way.name, out)
		}
		t.Logf("conformance: %s: %d checks passed, %d failed, of %d", way.name, passed, failed, most)
	}
}

// build builds the conforming server that comes with the SDK.
func build(t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	r := proc.Runner{Env: proc.Environ(os.Environ())}
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOTOOLCHAIN"} {
		if v := os.Getenv(name); v != "" {
			r.Env = append(r.Env, name+"="+v)
		}
	}
	r.Env = append(r.Env, "GOFLAGS=-mod=readonly", "GOWORK=off")
	exit, err := r.Run(t.Context(), proc.Command{
		Argv: []string{"go", "build", "-o", path, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"}, Stdout: &out, Stderr: &out,
	})
	if err != nil || !exit.OK() {
		t.Skipf("the conforming server cannot be built here: %v %v\n%s", exit, err, out.String())
	}
}
