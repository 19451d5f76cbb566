package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/command"
)

// run calls the shell with these limits and gives back its result and output.
func run(t *testing.T, timeout time.Duration, maxOutput int64, args map[string]any) (tools.Result, string) {
	t.Helper()
	r := &proc.Runner{Env: proc.Environ(os.Environ())}
	tool := Tool(command.Exec{Runner: r, Dir: filepath.Join(t.TempDir(), "workspace"), Timeout: timeout, MaxOutput: maxOutput})
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Check(raw); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	res := tool.Run(t.Context(), tools.Call{Args: raw, Output: &out})
	return res, out.String()
}

func TestFiveWaysToEnd(t *testing.T) {
	for _, row := range []struct {
		command  string
		ok       bool
		metadata map[string]any
		errHas   string
	}{
		{"echo hi", true, map[string]any{"ended": "exited", "exit_code": 0}, ""},
		{"exit 7", false, map[string]any{"ended": "exited", "exit_code": 7}, "exit code 7"},
		{"sh -c 'kill -9 $$'; exit $?", false, map[string]any{"ended": "exited", "exit_code": 137}, "out-of-memory"},
		{"kill -9 $$", false, map[string]any{"ended": "signaled", "signal": "SIGKILL"}, "out-of-memory"},
		{"kill -SEGV $$", false, map[string]any{"ended": "signaled", "signal": "SIGSEGV"}, "killed by SIGSEGV"},
		{"sleep 100", false, map[string]any{"ended": "timeout", "signal": "SIGTERM"}, "the limit was 300ms"},
		{"yes", false, map[string]any{"ended": "flooded", "signal": "*"}, "the limit is 1000 bytes"},
	} {
		res, _ := run(t, 300*time.Millisecond, 1000, map[string]any{"command": row.command})
		delete(res.Metadata, "duration_ms")
		delete(res.Metadata, "bytes")
		if row.metadata["signal"] == "*" { // SIGTERM or SIGPIPE, whichever comes first
			row.metadata["signal"] = res.Metadata["signal"]
		}
		if diff := cmp.Diff(row.metadata, res.Metadata); diff != "" || res.OK != row.ok || !strings.Contains(res.Error, row.errHas) || row.ok != (res.Error == "") {
			t.Errorf("%s: ok %v, error %q\n%s", row.command, res.OK, res.Error, diff)
		}
	}
}

func TestCanceledWithTheCycle(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tool := Tool(command.Exec{Runner: &proc.Runner{}, Dir: t.TempDir()})
	res := tool.Run(ctx, tools.Call{
		Args:    json.RawMessage(`{"command":"sleep 100"}`),
		Output:  &bytes.Buffer{},
		Started: func(proc.Identity) { cancel() },
	})
	if res.OK || res.Metadata["ended"] != "canceled" || !strings.HasPrefix(res.Error, "canceled") {
		t.Errorf("got %+v", res)
	}
}

func TestOutputAndInput(t *testing.T) {
	for _, row := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"command": "echo 1; echo 2 >&2; echo 3"}, "1\n2\n3\n"},
		{map[string]any{"command": "cat"}, ""},
		{map[string]any{"command": "cat; cat", "stdin": "a\x00ü\n"}, "a\x00ü\n"},
		{map[string]any{"command": "exec head -c 1", "stdin": strings.Repeat("x", 1<<20)}, "x"},
		{map[string]any{"command": "basename $PWD; ls -A"}, "workspace\n"},
		{map[string]any{"command": "rmdir $PWD; echo gone", "timeout_seconds": 3}, "gone\n"},
	} {
		res, out := run(t, 5*time.Second, 0, row.args)
		if out != row.want || !res.OK || res.Metadata["bytes"] != int64(len(out)) {
			t.Errorf("%v: got %q, %+v", row.args["command"], out, res)
		}
	}
}

func TestCwd(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	res := Tool(command.Exec{Runner: &proc.Runner{}, Dir: dir}).Run(t.Context(), tools.Call{Args: json.RawMessage(`{"command":"basename $PWD","cwd":"a/b"}`), Output: &out})
	if !res.OK || out.String() != "b\n" {
		t.Errorf("%q, %+v", out.String(), res)
	}
}

// A reader that goes away ends the writer, as in any shell.
func TestBrokenPipeEndsTheWriter(t *testing.T) {
	res, out := run(t, 5*time.Second, 0, map[string]any{"command": "(while :; do echo x; done) | head -1; grep SigIgn /proc/self/status 2>/dev/null || true"})
	if !res.OK || !strings.HasPrefix(out, "x\n") {
		t.Errorf("%q, %+v", out, res)
	}
}

func TestArgumentsRefused(t *testing.T) {
	tool := Tool(command.Exec{Runner: &proc.Runner{}, Dir: t.TempDir(), Timeout: time.Second})
	for _, args := range []string{`{}`, `{"command":1}`, `{"command":"ls","timeout_seconds":11}`, `{"command":"ls","timeout_seconds":0}`, `{"command":"ls","cwd":1}`} {
		if tool.Check(json.RawMessage(args)) == nil {
			t.Errorf("%s fits the schema", args)
		}
	}
	for _, row := range []struct{ args, want string }{
		{`{"command":" "}`, "command is empty"},
		{`{"command":"ls","timeout_seconds":11}`, "from 1 to 10"},
		{`{"command":"ls","cwd":"/"}`, "outside the workspace"},
		{`{"command":"ls","cwd":"../x"}`, "outside the workspace"},
		{`{"command":"ls","cwd":"none"}`, "no folder"},
		{`{"command":"a\u0000b"}`, "NUL"},
		{`{"command":"` + strings.Repeat("#", 1<<18) + `"}`, "by stdin or in a file"},
	} {
		res := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(row.args), Output: &bytes.Buffer{}})
		if res.OK || !strings.Contains(res.Error, row.want) {
			t.Errorf("%.60s: got %.200s", row.args, res.Error)
		}
	}
}
