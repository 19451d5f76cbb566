package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func load(t *testing.T, text string, env map[string]string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rouse.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, func(name string) string { return env[name] })
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "model:\ncycle:\ntools:\n"} {
		c, err := load(t, text, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if c.Model.Provider != "offline" || c.Model.MaxOutput != 8192 || c.Cycle.MaxIterations != 20 ||
			time.Duration(c.Cycle.Timeout) != 15*time.Minute || c.Tools.MaxOutput != 1<<30 {
			t.Errorf("%q: %+v", text, c)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none"), os.Getenv); err != nil {
		t.Errorf("no file: %v", err)
	}
}

func TestValues(t *testing.T) {
	c, err := load(t, `
model: {name: m, base_url: "http://localhost:1/v1", retries: 0, max_output: 16_000, idle_timeout: 90s}
cycle: {max_iterations: 3, timeout: 1h30m, locked: [goals]}
tools: {max_output: 16KiB, shell: {timeout: 2s}, http: {allow: ["a.example:8080"]}}
secrets: [MY_PIN]
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Model.Provider != "openai" || c.Model.Retries != 0 || c.Model.MaxOutput != 16000 || time.Duration(c.Model.IdleTimeout) != 90*time.Second ||
		time.Duration(c.Cycle.Timeout) != 90*time.Minute || c.Tools.MaxOutput != 16<<10 || c.Secrets[0] != "MY_PIN" {
		t.Errorf("%+v", c)
	}
}

func TestEnvironmentBeatsFile(t *testing.T) {
	const text = "model: {name: file, base_url: 'http://file.example/v1', api_key_env: KEY}\n"
	c, err := load(t, text, map[string]string{"ROUSE_MODEL": "env", "OPENAI_BASE_URL": "http://env.example/v1"})
	if err != nil || c.Model.Name != "env" || c.Model.BaseURL != "http://env.example/v1" {
		t.Errorf("%+v %v", c.Model, err)
	}
	c, err = load(t, "model: {api_key_env: KEY}\n", map[string]string{"KEY": "value"})
	if err != nil || c.Model.Provider != "openai" {
		t.Errorf("a key alone: %+v %v", c.Model, err)
	}
}

// Each error is one line that names the place and what to write.
func TestErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"cycle:\n  max_iteration: 3\n", `read rouse.yaml: line 2: unknown key "max_iteration"`},
		{"timetable: []\n", `line 1: unknown key "timetable"`},
		{"cycle: {max_iterations: many}\n", "line 1: `many` where a whole number is wanted"},
		{"cycle:\n  max_iterations: 2.5\n", "line 2: `2.5` where a whole number is wanted"},
		{"failures: {pause_after: 0.5}\n", "`0.5` where a whole number is wanted"},
		{"model: {retries: [1]}\n", "a list where a whole number is wanted"},
		{"limits:\n  day:\n    tokens:\n", "line 3: limits.day.tokens is empty; write a number, or leave the key out for no limit"},
		{"limits:\n  month:\n", "line 2: limits.month is empty"},
		{"cycle: {timeout: 15}\n", `line 1: "15" is not a length of time; write 90s, 2m or 1h30m`},
		{"cycle: {timeout: -1s}\n", "above 0"},
		{"cycle: {max_iterations: 0}\n", "above 0"},
		{"tools: {max_output: 5 apples}\n", `line 1: "5 apples" is not a size; write 500, 16KiB, 64MiB or 1GiB`},
		{"tools: {max_output: 0}\n", "above 0"},
		{"observations: {threshold_bytes: 1}\n", "use 256 to 1GiB"},
		{"observations: {threshold_bytes: 2GiB}\n", "use 256 to 1GiB"},
		{"tools: {http: {ports: [80, 70000]}}\n", "tools.http.ports[1] 70000: use 1 to 65535"},
		{"observations: {codec: lzma}\n", "use zstd or raw"},
		{"observations: {summary: all}\n", "use preview or model"},
		{"conversation: {max_tokens: 100}\n", "at least 4000"},
		{"conversation: {task_scratchpad: maybe}\n", "use required, optional or off"},
		{"cycle: {notes_max: 1}\n", "at least 1KiB"},
		{"observations: {max_bytes: 1KiB}\n", "at least 1MiB"},
		{"tools: {max_output: 99999999999999999999}\n", "is not a size"},
		{"tools: {http: {allow: ['http://a.example']}}\n", "name a host"},
		{"model: {provider: magic}\n", "use auto, openai or offline"},
		{"model: {protocol: xml}\n", "use auto, tools or json"},
		{"model: {base_url: localhost:11434}\n", "use an address such as"},
		{"model: {base_url: 'ftp://a/v1'}\n", "use an address such as"},
		{"model: [\n", "line"},
		{"- a\n", "line 1"},
		{"a: 1\n---\nb: 2\n", `unknown key "a"`},
		{"secrets: []\n---\nsecrets: []\n", "more than one YAML document"},
		{"workspace: ''\n", "name a folder"},
		{"model: {api_key_env: key-of-mine}\n", "not the key"},
		{"# a\ncycle:\n  max_iterations: 3\n  timeout: 0s\n", "rouse.yaml: line 4: cycle.timeout must be above 0"},
		{"secrets: [A,\n  's3same open']\n", "line 2: secrets[1]: name the environment variable that holds the secret, not the secret"},
		{"tools:\n  http:\n    allow: [a.example,\n      b/c]\n", `line 4: tools.http.allow[1] "b/c": name a host`},
		{"notebook:\n  idle: 0s\n", "line 2: notebook.idle must be above 0"},
		{"workspace: a\n# b \xff\n", "line 2: the byte 0xff is no text; save the file as UTF-8"},
		{"workspace: a\n\x00", "line 2: the byte 0x00"},
		{"workspace: [a]\n", "line 1: a list where a text is wanted"},
		{"notebook: {isolated: []}\na: 1\nb: 2\n", `line 2: unknown key "a"; line 3: unknown key "b"`},
	}
	for _, tt := range tests {
		_, err := load(t, tt.text, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "config.") {
			t.Errorf("%q: %v, want one line with %q", tt.text, err, tt.want)
		}
	}
}

// What stands in the place of the file is not waited for, nor read if it is huge;
// and no message repeats what may be a key or a password.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo, huge := filepath.Join(dir, "fifo"), filepath.Join(dir, "huge")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 1<<40)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "read fifo: not a regular file", dir: "not a regular file", huge: "read huge: 1099511627776 bytes, the limit is 1048576"} {
		if _, err := Load(path, os.Getenv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for _, text := range []string{"model: {api_key_env: s3same-open}\n", "model: {base_url: 'http://me:s3same-open@/v1'}\n"} {
		if _, err := load(t, text, nil); err == nil || strings.Contains(err.Error(), "s3same") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("cycle: {timeout: 1s}\nsecrets: [a]\n")
	f.Add("&a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		c := Default()
		err := decode([]byte(text), &c)
		if err == nil {
			err = c.check()
		}
		if err == nil && (c.Cycle.MaxIterations < 1 || c.Cycle.Timeout <= 0 || c.Tools.MaxOutput < 1) {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

// The configuration that held has every key on a line of its own, as it was before.
func TestHeld(t *testing.T) {
	c, err := load(t, "model: {name: 'a\"b'}\ncycle: {locked: [goals]}\nsecrets: []\nwatch: [x]\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`model.name: "a\"b"`, "model.retries: 4", "cycle.timeout: 15m0s", `cycle.locked: ["goals"]`, "secrets: []", "tools.commands: null",
		"notify: null", "conversation.max_tokens: 32000", `watch: ["x"]`,
	} {
		if !strings.Contains("\n"+string(c.Held()), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, c.Held())
		}
	}
}
