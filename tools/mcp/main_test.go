package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

// TestMain lets the test binary be a server, or a client for a suite of others.
func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv(mcptest.Variable); ok {
		mcptest.Main(mode)
		return
	}
	if os.Getenv(driver) != "" {
		drive(os.Args[len(os.Args)-1])
		return
	}
	disktest.Main(m)
}

// rig is a folder with servers.
type rig struct {
	t   *testing.T
	dir string
	o   Options
}

func newRig(t *testing.T) *rig {
	dir := t.TempDir()
	return &rig{t: t, dir: dir, o: Options{
		Runner: &proc.Runner{Env: proc.Environ(os.Environ())}, Pins: filepath.Join(dir, "pins.json"),
		StartLimit: time.Minute, CallLimit: time.Minute, MaxMessage: 8 << 20, Grace: 500 * time.Millisecond,
	}}
}

// server is an entry of a server in one of its modes.
func (r *rig) server(name, mode string) Server {
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	return Server{Name: name, Command: exe, Dir: r.dir, Env: map[string]string{mcptest.Variable: mode, "GORACE": "atexit_sleep_ms=0"}}
}

func (r *rig) start(list ...Server) *Servers {
	s := Start(r.t.Context(), Config{Dir: r.dir, Servers: list}, r.o)
	r.t.Cleanup(s.Close)
	return s
}

// answer is a result with what was written.
type answer struct {
	tools.Result
	out string
}

func call(t *testing.T, s *Servers, name, args string) answer {
	t.Helper()
	return find(t, s, name)(args)
}

// find gives a tool as a function.
func find(t *testing.T, s *Servers, name string) func(args string) answer {
	t.Helper()
	for _, tool := range s.Tools() {
		if tool.Name == name {
			return func(args string) answer {
				var out bytes.Buffer
				return answer{tool.Run(t.Context(), tools.Call{Args: json.RawMessage(args), Output: &out}), out.String()}
			}
		}
	}
	t.Fatalf("no tool %s; problems: %q", name, s.Problems())
	return nil
}

func matches(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }

func (a answer) unknown() bool { return !a.OK && a.Metadata["outcome"] == "unknown" }

func has(list []string, part string) bool { return strings.Contains(strings.Join(list, "\n"), part) }

// peak resets and reads the most memory that this process ever had, in MiB; 0
// where the system does not say.
func peak(reset bool) (mib int) {
	if reset {
		os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	}
	data, _ := os.ReadFile("/proc/self/status")
	if _, after, ok := strings.Cut(string(data), "VmHWM:"); ok {
		fmt.Sscanf(after, "%d", &mib)
	}
	return mib / 1024
}

func TestPlain(t *testing.T) {
	r := newRig(t)
	begun := time.Now()
	s := r.start(r.server("good", "good"))
	t.Logf("started in %v", time.Since(begun))
	if len(s.Problems()) > 0 || !has(s.News(), `mcp "good": seen for the first time; its 2 tools`) {
		t.Fatalf("problems %q, news %q", s.Problems(), s.News())
	}
	if got := call(t, s, "good__say", `{"text":"hello"}`); !got.OK || got.out != "said: hello" {
		t.Errorf("got %+v", got)
	}
	s.Close()
	if got := mcptest.Left(r.dir); len(got) > 0 {
		t.Errorf("left: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := Start(ctx, Config{Servers: []Server{r.server("good", "good")}}, r.o); len(s.Tools()) > 0 || len(s.Problems()) != 1 {
		t.Errorf("canceled: %q", s.Problems())
	}
}
