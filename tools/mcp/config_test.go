package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/tools"
)

// environment is what files of these tests may refer to.
var environment = Variables{
	Get: func(name string) string {
		return map[string]string{"HOME": "/home/me", "TOKEN": "tok-" + "12345678", "EMPTY": "", "MODEL_KEY": "sk-" + "12345678"}[name]
	},
	Own: []string{"MODEL_KEY", ""},
}

// TestOwnVariables holds that no entry, in none of its parts, gets a key of
// Rouse's, also not where it has a default for it.
func TestOwnVariables(t *testing.T) {
	for _, entry := range []string{
		`{"command": "a", "args": ["${MODEL_KEY}"]}`,
		`{"command": "a", "env": {"K": "${env:MODEL_KEY}"}}`,
		`{"command": "a", "cwd": "x${MODEL_KEY:-y}"}`,
		`{"url": "https://a.example/?k=${MODEL_KEY}"}`,
		`{"url": "https://a.example/", "headers": {"X": "Bearer ${MODEL_KEY}"}}`,
	} {
		c, err := parse([]byte(`{"mcpServers": {"x": `+entry+`, "y": {"command": "${TOKEN}"}}}`), t.TempDir(), environment)
		if err != nil || len(c.Servers) != 2 {
			t.Fatalf("%s: %v", entry, err)
		}
		if p := c.Servers[0].Problem; !strings.HasPrefix(p, "MODEL_KEY is Rouse's own") {
			t.Errorf("%s: problem %q", entry, p)
		}
		if strings.Contains(fmt.Sprint(c.Servers[0]), "12345678") {
			t.Errorf("%s: the key is in the entry", entry)
		}
		if p := c.Servers[1].Problem; p != "" {
			t.Errorf("%s costs the other server: %s", entry, p)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, file string
		want       []Server
	}{
		{"empty", `{}`, nil},
		{"none", `{"mcpServers": null}`, nil},
		{"stdio", `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server", "${HOME}/x"], "env": {"A": "${TOKEN}", "B": "${NO:-b}"}}}}`,
			[]Server{{Name: "files", Command: "npx", Args: []string{"-y", "server", "/home/me/x"}, Env: map[string]string{"A": "tok-" + "12345678", "B": "b"}, Dir: dir}}},
		{"other clients' keys", `{"inputs": [], "mcpServers": {"x": {"command": "a", "cwd": "sub", "type": "stdio", "alwaysAllow": ["b"], "autoApprove": 1, "timeout": 60}}, "$schema": "y"}`,
			[]Server{{Name: "x", Command: "a", Dir: filepath.Join(dir, "sub"), Timeout: time.Minute}}},
		{"http", `{"mcpServers": {"x": {"type": "http", "url": "https://${env:HOST:-example.com}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "timeout": 90000}}}`,
			[]Server{{Name: "x", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer tok-" + "12345678"}, Dir: dir, Timeout: 90 * time.Second}}},
		{"chosen", `{"mcpServers": {"x": {"command": "a", "include": ["read_*"], "exclude": ["read_all"], "start_timeout": "90s"}}}`,
			[]Server{{Name: "x", Command: "a", Dir: dir, Include: []string{"read_*"}, Exclude: []string{"read_all"}, StartTimeout: 90 * time.Second}}},
		{"sandbox", `{"mcpServers": {"x": {"command": "a", "sandbox": {"network": "none", "read": ["~/data", "in"], "write": ["/srv/x/", "${HOME}/out"]}}}}`,
			[]Server{{Name: "x", Command: "a", Dir: dir, Sandbox: Sandbox{Network: "none", Read: []string{"/home/me/data", filepath.Join(dir, "in")}, Write: []string{"/srv/x", "/home/me/out"}}}}},
		{"another client's sandbox", `{"mcpServers": {"x": {"command": "a", "sandbox": true}}}`, []Server{{Name: "x", Command: "a", Dir: dir}}},
		{"order and disabled", `{"mcpServers": {"z": {"command": "z", "disabled": true, "timeout": "2m"}, "a": {"command": "a", "cwd": "/abs/"}}}`,
			[]Server{{Name: "z", Command: "z", Dir: dir, Disabled: true, Timeout: 2 * time.Minute}, {Name: "a", Command: "a", Dir: "/abs"}}},
		{"not ours to expand", `{"mcpServers": {"x": {"command": "$HOME", "args": ["${a b}", "${", "$${TOKEN}", "{x}"]}}}`,
			[]Server{{Name: "x", Command: "$HOME", Args: []string{"${a b}", "${", "$tok-" + "12345678", "{x}"}, Dir: dir}}},
	}
	for _, tt := range tests {
		c, err := parse([]byte(tt.file), dir, environment)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for i := range c.Servers {
			s := &c.Servers[i]
			s.Source = "" // see TestSource
			s.Args, s.Env, s.Headers = none(s.Args), empty(s.Env), empty(s.Headers)
		}
		if diff := cmp.Diff(tt.want, c.Servers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestSource holds that what starts a server has a hash which a person's usual
// edits leave alone.
func TestSource(t *testing.T) {
	source := func(entry string) string {
		c, err := parse([]byte(`{"mcpServers": {"x": `+entry+`}}`), t.TempDir(), environment)
		if err != nil {
			t.Fatal(err)
		}
		return c.Servers[0].Source
	}
	was := source(`{"command": "a", "args": ["${HOME}"], "env": {"A": "1", "B_TOKEN": "2"}}`)
	for _, same := range []string{
		`{"args": ["${HOME}"], "command": "a", "env": {"B_TOKEN": "3", "A": "1"}, "timeout": 9, "start_timeout": 9}`,
		`{"command": "a", "args": ["${HOME}"], "env": {"A": "1"}, "include": ["say"], "exclude": ["show"], "sandbox": {"network": "none"}}`,
		`{"command": "a", "args": ["${HOME}"], "env": {"A": "1"}, "headers": {"X": "y"}, "disabled": true, "type": "stdio"}`,
	} {
		if source(same) != was {
			t.Errorf("%s counts as another program", same)
		}
	}
	for _, other := range []string{
		`{"command": "b", "args": ["${HOME}"], "env": {"A": "1"}}`,
		`{"command": "a", "args": ["${HOME}", "b"], "env": {"A": "1"}}`,
		`{"command": "a", "args": ["/home/me"], "env": {"A": "1"}}`,
		`{"command": "a", "args": ["${HOME}"], "env": {"A": "1", "LD_PRELOAD": "x"}}`,
		`{"command": "a", "args": ["${HOME}"], "env": {"A": "1"}, "cwd": "workspace"}`,
		`{"url": "https://a.example"}`,
	} {
		if source(other) == was {
			t.Errorf("%s counts as the same program", other)
		}
	}
}

func none(l []string) []string {
	if len(l) == 0 {
		return nil
	}
	return l
}

func empty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

func TestLoadMistakes(t *testing.T) {
	tests := []struct{ file, want string }{
		{"", "line 1: not JSON: it ends too early"},
		{"{\n \"mcpServers\": {\n", "line 3: not JSON: it ends too early"},
		{"{\n // comment\n}", "line 2: not JSON"},
		{"{\"mcpServers\": {\"a\": {\"command\": \"x\",}}}", "line 1: not JSON"},
		{"[]", "line 1: the file must be an object"},
		{"{\n\"mcpServers\": [1]}", "line 2: mcpServers must be an object"},
		{"{\"mcpServers\": {\n\"a\": {\n\"args\": \"x\"}}}", `line 3: server "a": args must be a list of texts, not string`},
		{"{\"mcpServers\": {\n\"a\": {\n\"env\": {\n\"PORT\": 80}}}}", `line 4: server "a": env must be a text in quotes`},
		{"{\"mcpServers\": {\"a\": {\"disabled\": \"no\"}}}", `disabled must be true or false, not string`},
		{"{\"mcpServers\": {\"a\": 7}}", `server "a" must be an object`},
		{"{\"mcpServers\": {\"a\": {}, \"a\": {}}}", "there twice"},
		{"{\"mcpServers\": {\"\": {}}}", "is empty"},
		{"{} x", "something follows"},
		{"{} {}", "something follows"},
		{"{\"servers\": {}}", `rename that to "mcpServers"`},
		{"{\"a\": {\"command\": \"x\"}}", `there is no "mcpServers"`},
		{strings.Repeat("[", 1<<20), "the limit is 1048576"},
		{"{\"a\":" + strings.Repeat("[", 20_000), "not JSON"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), ".mcp.json")
		if err := os.WriteFile(path, append([]byte(tt.file), make([]byte, len(tt.file)>>20)...), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, environment)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), ".mcp.json: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: got %v, want %s", tt.file, err, tt.want)
		}
	}
	dir := t.TempDir()
	if _, err := Load(dir, environment); err == nil {
		t.Error("a folder is read")
	}
	if c, err := Load(filepath.Join(dir, "none"), environment); err != nil || c.Servers != nil {
		t.Errorf("no file: %v %v", c, err)
	}
}

// TestEntryProblems: an entry that cannot be used costs no other.
func TestEntryProblems(t *testing.T) {
	tests := []struct{ entry, want string }{
		{`{"type": "sse", "url": "http://x/sse"}`, `type "sse" is the transport of 2024, which is not supported`},
		{`{}`, "neither command nor url"},
		{`{"command": "a", "url": "http://x"}`, "both command and url"},
		{`{"command": "a", "type": "websocket"}`, `type "websocket" is not known`},
		{`{"command": "a", "type": "http"}`, "does not go with"},
		{`{"url": "http://x", "type": "stdio"}`, "does not go with"},
		{`{"url": "ftp://x"}`, "no http or https address"},
		{`{"command": "a", "args": ["${NOT_SET}", "${EMPTY}"]}`, "NOT_SET, EMPTY is not set: set it, or give a default as in ${NOT_SET:-text}"},
		{`{"command": "a", "env": {"A=B": "c"}}`, "no environment can hold"},
		{`{"command": "a", "timeout": -1}`, "timeout -1"},
		{`{"command": "a", "timeout": "soon"}`, "timeout"},
		{`{"command": "a", "start_timeout": "soon"}`, "start_timeout"},
		{`{"command": "a", "exclude": ["[a"]}`, `"[a" is no pattern`},
		{`{"command": "/no/such/program"}`, "/no/such/program"},
	}
	for _, tt := range tests {
		r := newRig(t)
		c, err := parse([]byte(`{"mcpServers": {"x": `+tt.entry+`}}`), r.dir, environment)
		if err != nil {
			t.Fatalf("%s: %v", tt.entry, err)
		}
		s := r.start(append(c.Servers, r.server("good", "good"))...)
		if !has(s.Problems(), tt.want) || len(s.Problems()) != 1 || len(s.Tools()) != 2 {
			t.Errorf("%s: got %q, want %s", tt.entry, s.Problems(), tt.want)
		}
	}
}

// TestSandboxProblems: a sandbox that cannot be meant is known as such, and costs the
// entry nothing in itself: the key may be another client's.
func TestSandboxProblems(t *testing.T) {
	for sandbox, want := range map[string]string{
		`{"network": "some"}`:     `sandbox: network "some": use open, listed or none`,
		`{"netwrok": "none"}`:     `sandbox: unknown field "netwrok"; write {"network": "open"`,
		`{"read": "all"}`:         `write {"network": "open", "read": [], "write": []}`,
		`{"write": ["~you/x"]}`:   `sandbox: write "~you/x": name a file or a folder`,
		`{"write": ["${NO}/x"]}`:  "variables that are set",
		`{"read": ["${TOKEN}"]}`:  "",
		`{"read": ["", "/data"]}`: `sandbox: read "": name a file or a folder`,
	} {
		c, err := parse([]byte(`{"mcpServers": {"x": {"command": "a", "sandbox": `+sandbox+`}}}`), t.TempDir(), environment)
		if err != nil || c.Servers[0].Problem != "" {
			t.Fatalf("%s: %v %s", sandbox, err, c.Servers[0].Problem)
		}
		if s := c.Servers[0].Sandbox; !strings.Contains(s.Problem, want) || s.Set() != (want == "") {
			t.Errorf("%s: %+v, want %q", sandbox, s, want)
		}
	}
}

// TestSecrets: what only a server may know is in no message of ours.
func TestSecrets(t *testing.T) {
	canary := "canary" + "0123456789"
	r := newRig(t)
	s := r.start(
		Server{Name: "a", Command: "sh", Args: []string{"-c", "echo $KEY >&2; exit 1"}, Env: map[string]string{"KEY": canary}, Dir: r.dir},
		Server{Name: "b", URL: "http://user:" + canary + "@127.0.0.1:1/mcp?key=" + canary, Headers: map[string]string{"Authorization": "Bearer " + canary}},
	)
	if len(s.Problems()) != 2 || has(s.Problems(), canary) || !has(s.Problems(), "REDACTED:mcp:a:KEY") {
		t.Errorf("got %q", s.Problems())
	}
	c := Config{Servers: []Server{{Name: "b", URL: "http://u:" + canary + "@h/?k=" + canary + "2", Headers: map[string]string{"A": "Bearer " + canary + "3"},
		Env: map[string]string{"MY_TOKEN": canary + "4", "MODE": "production"}}}}
	want := map[string]string{"mcp:b:password": canary, "mcp:b:k 0": canary + "2", "mcp:b:A": "Bearer " + canary + "3", "mcp:b:A value": canary + "3", "mcp:b:MY_TOKEN": canary + "4"}
	if diff := cmp.Diff(want, c.Secrets()); diff != "" {
		t.Error(diff)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"x": {"command": "a", "args": ["${HOME}", "${N:-d}"], "env": {"A": "b"}, "timeout": 5}, "y": {"url": "http://${TOKEN}/"}}}`))
	f.Add([]byte(`{"mcpServers": [], "servers": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data, "/home", environment)
		if err != nil && (strings.Contains(err.Error(), "\n") || len(c.Servers) > 0) {
			t.Errorf("%q: %v", data, err)
		}
		c.Secrets()
		for _, s := range c.Servers {
			if got, err := c.Pick(s.Name); s.Disabled != (err != nil) || err == nil && got.Servers[0].Name != s.Name {
				t.Errorf("%q: no %q", data, s.Name)
			}
		}
	})
}

func TestNames(t *testing.T) {
	tests := []struct{ server, tool, want string }{
		{"files", "read_file", "files__read_file"},
		{"files", "read-file.v2", "files__read-file_v2-6f7eac7d"},
		{"my files", "a", "my_files-3c02e611__a"},
		{"a__b", "c", "a_b-63e5c1c4__c"},
		{"a", "b__c", "a__b__c"},
		{"a_", "b", "a-571fb0e3__b"},
		{"s", "", "s__-e3b0c442"},
		{"s", strings.Repeat("n", 80), "s__" + strings.Repeat("n", 52) + "-feed930b"},
	}
	for _, tt := range tests {
		got := toolName(tt.server, tt.tool)
		if got != tt.want || !tools.ValidName(got) {
			t.Errorf("%s %s: got %s, want %s", tt.server, tt.tool, got, tt.want)
		}
	}
}

// FuzzNames: every name fits, and no two servers share one.
func FuzzNames(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Add("a_", "b", "a", "_b")
	f.Add("é", "", "e\u0301", "\xff")
	f.Add(strings.Repeat("s", 40), strings.Repeat("t", 90), "s", "t")
	f.Fuzz(func(t *testing.T, server1, tool1, server2, tool2 string) {
		one, two := toolName(server1, tool1), toolName(server2, tool2)
		if !tools.ValidName(one) || !tools.ValidName(two) {
			t.Errorf("%q, %q", one, two)
		}
		if server1 != server2 && one == two && server1 != "" && server2 != "" {
			t.Errorf("%q of %q and %q of %q are both %s", tool1, server1, tool2, server2, one)
		}
	})
}
