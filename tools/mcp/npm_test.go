package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

// driver makes the test binary a client for the conformance suite.
const driver = "MCP_TEST_DRIVER"

// TestFilesystem drives a server that many people have.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	node, script := mcptest.NPM(t, "@modelcontextprotocol/server-filesystem/dist/index.js")
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
	node, script := mcptest.NPM(t, "@modelcontextprotocol/server-everything/dist/index.js")
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

// TestConformance has the official suite judge our client, in the scenarios of what it offers: elicitation and
// logins without a person are not. Nor is 2025-03-26-oauth-metadata-backcompat of this version, whose metadata have
// another issuer than the address where they are; that of 0.2.0-alpha.12 has mended that, and passes.
func TestConformance(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	passed, failed := 0, 0
	scenarios := []string{"initialize", "tools_call", "sse-retry"}
	for name := range strings.FieldsSeq("metadata-default scope-step-up " + sweep.Of("", all, all)) {
		scenarios = append(scenarios, "auth/"+name)
	}
	for _, scenario := range scenarios {
		good, bad, out := mcptest.Judge(t, []string{driver + "=1"}, "client", "--command", exe, "--scenario", scenario) // what --verbose says is cut at the end of a pipe
		if passed, failed = passed+good, failed+bad; bad > 0 || good == 0 {
			t.Errorf("%s: %s", scenario, out)
		}
	}
	t.Logf("conformance: %d checks passed, %d failed", passed, failed)
}

const all = "metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate scope-from-scopes-supported " +
	"scope-omitted-when-undefined scope-retry-limit token-endpoint-auth-basic token-endpoint-auth-post token-endpoint-auth-none " +
	"pre-registration 2025-03-26-oauth-endpoint-fallback resource-mismatch offline-access-scope offline-access-not-supported"

// drive calls every tool of the server whose address is the last argument, and logs in where it wants that: the
// suite's browser comes back at once.
func drive(address string) {
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	var login Login
	o := Options{Pins: filepath.Join(dir, "pins"), Logins: &Logins{Load: func(string) (Login, error) { return login, nil }, Change: func(_ string, f func(Login) (Login, error)) (err error) {
		login, err = f(login)
		return err
	}}}
	server := Server{Name: "suite", URL: address, OAuth: OAuth{ClientMetadata: "https://conformance-test.local/client-metadata.json"}}
	var given map[string]string
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) // most give none
	server.OAuth.ClientID, server.OAuth.ClientSecret = given["client_id"], given["client_secret"]
	for range 3 {
		s := Start(context.Background(), Config{Servers: []Server{server}}, o)
		said := fmt.Sprint(s.Problems())
		for _, tool := range s.Tools() {
			said += fmt.Sprint(tool.Name, tool.Run(context.Background(), tools.Call{Args: []byte(`{"a":5,"b":3}`), Output: os.Stdout}))
		}
		s.Close()
		fmt.Println(said)
		m := regexp.MustCompile(`rouse mcp login suite(?: --scope '?([^']*[^'\s]))?`).FindStringSubmatch(said)
		if m == nil {
			return
		}
		read, write := io.Pipe()
		login, _, err = LogIn(context.Background(), server, o, Visit{Pasted: read, Scopes: strings.Fields(m[1]), Show: func(address string) {
			client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			if resp, err := client.Get(address); err == nil {
				go fmt.Fprintln(write, resp.Header.Get("Location"))
			}
		}})
		if err != nil {
			break
		}
	}
	fmt.Println(err)
	os.Exit(1)
}
