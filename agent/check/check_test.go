package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/command"
	"rouse/tools/files"
)

// parsed are the checks of YAML.
func parsed(t *testing.T, line string) ([]Check, error) {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	return Parse(v)
}

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		`test -s a`:                      "[command test -s a]",
		`{command: [go, test, ./...]}`:   "[command go test ./...]",
		`[a, {command: b, timeout: 5m}]`: "[command a command b]",
		`{file: a.csv, newer: true, size: ">1KiB", matches: "^x"}`: "[file a.csv, newer true, size >1KiB, matches ^x]",
		`{file: a.json, path: "jobs[0].ok", equals: 1}`:            "[file a.json, path jobs[0].ok, equals 1]",
		`{http: "http://a/b", status: 204, sandbox: off}`:          "[http http://a/b, status 204]",
		`{command: a, by: agent}`:                                  "[command a]",
		// What is wrong is said, and never taken for no check.
		``:                                      "check: it is empty",
		`[]`:                                    "check: it is empty",
		`""`:                                    "command: want a program",
		`5`:                                     "neither text nor a mapping",
		`{}`:                                    "it says nothing to test",
		`{comand: a}`:                           "comand: unknown key",
		`{file: a, status: 200}`:                "status: not a key of {file: …}",
		`{command: []}`:                         "want a program",
		`{command: a, timeout: 2h}`:             "want a length of time up to 1h",
		`{file: a, path: x}`:                    "path and equals go together",
		`{file: a, matches: "("}`:               "missing closing )",
		`{file: a, size: many}`:                 "want a size",
		`{file: a, newer: 1}`:                   "want true or false",
		`{http: "x", status: 1}`:                "want a status of HTTP",
		`{command: a, sandbox: on}`:             "the only word is off",
		`{command: a, by: root}`:                "want operator or agent",
		`{command: a, by: agent, sandbox: off}`: "only a person's check",
	} {
		list, err := parsed(t, line)
		got := fmt.Sprint(list)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	bad := Must(map[string]any{"comand": "a", "by": Agent})
	if len(bad) != 1 || bad[0].Bad == "" || bad[0].By != Agent {
		t.Errorf("a check that cannot be read came to %+v", bad)
	}
}

// world is one with a folder, a shell and a web server.
func world(t *testing.T) (w World, dir, address string) {
	t.Helper()
	dir = t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusGone)
		}
		fmt.Fprint(w, "all is fine")
	}))
	t.Cleanup(server.Close)
	exec := command.Exec{Runner: &proc.Runner{Env: []string{"PATH=" + os.Getenv("PATH")}}, Dir: dir}
	return World{
		Run: func(ctx context.Context, c Check, call tools.Call) error {
			if err := c.Unchanged(dir); err != nil {
				return fmt.Errorf("%w: %w", ErrStuck, err)
			}
			r := exec.Run(ctx, call, proc.Command{Argv: c.Argv, Timeout: c.Timeout})
			switch {
			case r.OK:
				return nil
			case r.Metadata == nil:
				return fmt.Errorf("%w: %s", ErrStuck, r.Error)
			}
			return errors.New(r.Error)
		},
		Open: func(path string, own bool) (*os.File, error) {
			return files.Folder{Workspace: dir}.Open(path)
		},
		Get: func(ctx context.Context, c Check, body io.Writer) (int, error) {
			r, err := http.Get(c.URL)
			if err != nil {
				return 0, err
			}
			defer r.Body.Close()
			_, err = io.Copy(body, r.Body)
			return r.StatusCode, err
		},
		Began: time.Now().Add(-time.Hour),
	}, dir, server.URL
}

func TestChecks(t *testing.T) {
	w, dir, address := world(t)
	put := func(name, content string, mode os.FileMode, at time.Time) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(content), mode), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	put("new.csv", "date,n\n2026,1\n", 0o600, now)
	put("old.csv", "date,n\n", 0o600, now.Add(-2*time.Hour))
	put("ahead.csv", "date,n\n", 0o600, now.Add(time.Hour))
	put("state.json", `{"jobs": [{"status": "ok", "n": 1.0}], "big": 9007199254740993}`, 0o600, now)
	put("state.yaml", "jobs:\n  - status: ok\n    n: 1\n", 0o600, now)
	put("check.sh", "exit 0\n", 0o700, now)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`test -s new.csv`:                                           "",
		`echo two words; exit 3`:                                    "exit code 3: two words",
		`{command: [no-such-program]}`:                              "it cannot be tested: not started:",
		`{command: [sleep, "60"], timeout: 50ms}`:                   "timeout: ended after",
		`./check.sh`:                                                "it cannot be tested: tools can write",
		`{command: [sh, -e, check.sh]}`:                             "it cannot be tested: tools can write",
		`{command: ./check.sh, by: agent}`:                          "",
		`{command: ./check.sh, sha256: 93bf87a7b1ed3f6a}`:           "is not what it was when the check was given",
		`{file: new.csv, newer: true, size: ">10"}`:                 "",
		`{file: new.csv, size: "<10"}`:                              "14 bytes, not <10",
		`{file: old.csv, newer: true}`:                              "before the cycle",
		`{file: ahead.csv, newer: true}`:                            "is still to come",
		`{file: none.csv}`:                                          "no such file",
		`{file: .}`:                                                 "is a folder",
		`{file: link}`:                                              "leads outside the workspace",
		`{file: ../x}`:                                              "leads outside the workspace",
		`{file: new.csv, matches: "^2026,"}`:                        "",
		`{file: new.csv, matches: "^2027,"}`:                        "nothing matches ^2027, in 14 bytes",
		`{file: state.json, path: "jobs[0].n", equals: 1}`:          "",
		`{file: state.json, path: $.big, equals: 9007199254740992}`: "big is 9007199254740993, not",
		`{file: state.yaml, path: "jobs[0].n", equals: 1}`:          "",
		`{file: state.yaml, path: "jobs[1].n", equals: 1}`:          "there is no jobs.1",
		`{file: state.yaml, path: "jobs[0].status", equals: no}`:    `is "ok", not "no"`,
		`{http: "` + address + `", matches: fine}`:                  "",
		`{http: "` + address + `/gone"}`:                            "status 410",
		`{http: "` + address + `/gone", status: 410}`:               "",
		`{http: "` + address + `", status: 204}`:                    "status 200, not 204",
		`{http: "` + address + `", matches: broken}`:                "nothing matches broken",
		`{http: "http://127.0.0.1:1"}`:                              "refused",
	} {
		list, err := parsed(t, line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		r := w.Test(t.Context(), list[0])
		if r.OK != (want == "") || !strings.Contains(r.Seen, want) || r.Flaky {
			t.Errorf("%s: %v, %q", line, r.OK, r.Seen)
		}
	}
}

// What holds at the second try alone is flaky, and what then does not hold does not.
func TestFlaky(t *testing.T) {
	w, dir, _ := world(t)
	for line, want := range map[string]bool{"test -e a || { touch a; false; }": true, "echo x >> b; false": false} {
		list, err := parsed(t, "{command: '"+line+"'}")
		if err != nil {
			t.Fatal(err)
		}
		if r := w.Test(t.Context(), list[0]); r.OK != want || r.Flaky != want {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if tries, _ := os.ReadFile(filepath.Join(dir, "b")); string(tries) != "x\nx\n" {
		t.Errorf("tried %q", tries)
	}
}
