package mcp

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

// driver makes the test binary a client for the conformance suite.
const driver = "MCP_TEST_DRIVER"

// npm gives the path of something that `npm ci` installs, and the interpreter.
func npm(t *testing.T, elem ...string) (node, path string) {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	dir, err := filepath.Abs(filepath.Join("testdata", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	node = filepath.Join(dir, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	path = filepath.Join(append([]string{dir, "@modelcontextprotocol"}, elem...)...)
	for _, p := range []string{node, path} {
		if _, err := os.Stat(p); err != nil {
			t.Skip("the servers from npm are not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm (Linux)")
		}
	}
	return node, path
}

// TestFilesystem drives a server that many people have.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	node, script := npm(t, "server-filesystem", "dist", "index.js")
	r := newRig(t)
	file := filepath.Join(r.dir, "notes.txt")
	s := r.start(Server{Name: "files", Command: node, Args: []string{script, r.dir}, Dir: r.dir})
	if len(s.Problems()) > 0 {
		t.Fatal(s.Problems())
	}
	t.Logf("%d tools", len(s.Tools()))
	if got := call(t, s, "files__write_file", fmt.Sprintf(`{"path":%q,"content":"one\ntwo\n"}`, file)); !got.OK {
		t.Errorf("write: %+v", got)
	}
	if got := call(t, s, "files__read_text_file", fmt.Sprintf(`{"path":%q}`, file)); !got.OK || got.out != "one\ntwo\n" {
		t.Errorf("read: %+v", got)
	}
	if got := call(t, s, "files__read_text_file", `{"path":"/etc/passwd"}`); got.OK || got.unknown() || !strings.Contains(got.Error, "denied") {
		t.Errorf("outside: %+v", got)
	}
	s.Close()
	if got := mcptest.Left(r.dir); len(got) > 0 {
		t.Errorf("left: %q", got)
	}
}

// TestEverything drives the server that is made to have everything, over both transports.
func TestEverything(t *testing.T) {
	t.Parallel()
	node, script := npm(t, "server-everything", "dist", "index.js")
	r := newRig(t)
	port := mcptest.FreePort(t)
	web, err := r.o.Runner.Start(t.Context(), proc.Command{
		Argv: []string{node, script, "streamableHttp"}, Env: []string{"PORT=" + port}, Dir: r.dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.End(); web.Wait() })
	mcptest.Await(t, "127.0.0.1:"+port)
	servers := map[string]Server{
		"stdio": {Name: "every", Command: node, Args: []string{script, "stdio"}, Dir: r.dir, Timeout: time.Minute},
		"http":  {Name: "every", URL: "http://127.0.0.1:" + port + "/mcp", Timeout: time.Minute},
	}
	for kind, server := range servers {
		t.Run(kind, func(t *testing.T) {
			s := Start(t.Context(), Config{Servers: []Server{server}}, r.o)
			defer s.Close()
			if len(s.Problems()) > 0 {
				t.Fatal(s.Problems())
			}
			everything(t, s)
		})
	}
}

func everything(t *testing.T, s *Servers) {
	var names []string
	for _, tool := range s.Tools() {
		if err := tool.Check([]byte(`{}`)); err != nil && strings.Contains(err.Error(), "schema of") {
			t.Errorf("%s: %v", tool.Name, err)
		}
		names = append(names, tool.Name)
	}
	t.Logf("%d tools: %q", len(names), names)
	for _, tt := range []struct{ tool, args, want string }{
		{"every__echo", `{"message":"hi"}`, "Echo: hi"},
		{"every__get-sum", `{"a":2,"b":3}`, "5"},
		{"every__get-structured-content", `{"location":"New York"}`, `temperature`},
		{"every__get-resource-links", `{"count":2}`, "not fetched"},
		{"every__trigger-long-running-operation", `{"duration":1,"steps":3}`, "completed"},
	} {
		if got := call(t, s, tt.tool, tt.args); !got.OK || !strings.Contains(got.out, tt.want) {
			t.Errorf("%s: %+v", tt.tool, got)
		}
	}
	got := call(t, s, "every__get-tiny-image", `{}`)
	if !got.OK || len(got.Media) != 1 || !bytes.HasPrefix(got.Media[0].Data, []byte("\x89PNG")) {
		t.Errorf("image: %d media, %q", len(got.Media), got.out)
	}
	if got := call(t, s, "every__echo", `{"message":7}`); got.OK || got.unknown() {
		t.Errorf("wrong arguments: %+v", got)
	}
}

// TestConformance has the official suite judge our client, in the scenarios of
// what it offers; OAuth and elicitation are not.
func TestConformance(t *testing.T) {
	t.Parallel()
	node, suite := npm(t, "conformance", "dist", "index.js")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	passed, failed := 0, 0
	for _, scenario := range []string{"initialize", "tools_call", "sse-retry"} {
		var out bytes.Buffer
		r := proc.Runner{Env: proc.Environ(os.Environ())}
		exit, err := r.Run(t.Context(), proc.Command{
			Argv: []string{node, suite, "client", "--command", exe, "--scenario", scenario, "--verbose"},
			Env:  []string{driver + "=1"}, Dir: t.TempDir(), Stdout: &out, Stderr: &out, Timeout: time.Minute,
		})
		if err != nil || !exit.OK() {
			t.Errorf("%s: %v %v\n%s", scenario, exit, err, out.String())
		}
		m := regexp.MustCompile(`Passed: (\d+)/\d+, (\d+) failed`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("%s: no score in\n%s", scenario, out.String())
		}
		var good, bad int
		fmt.Sscan(m[1], &good)
		fmt.Sscan(m[2], &bad)
		passed, failed = passed+good, failed+bad
	}
	t.Logf("conformance: %d checks passed, %d failed", passed, failed)
}

// drive calls every tool of the server whose address is the last argument.
func drive(url string) {
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	s := Start(context.Background(), Config{Servers: []Server{{Name: "suite", URL: url}}}, Options{Pins: filepath.Join(dir, "pins")})
	defer s.Close()
	fmt.Println(s.Problems())
	for _, tool := range s.Tools() {
		fmt.Println(tool.Name, tool.Run(context.Background(), tools.Call{Args: []byte(`{"a":5,"b":3}`), Output: os.Stdout}))
	}
}
