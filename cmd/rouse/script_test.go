package main

import (
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rouse/agent/model/modeltest"
	"rouse/home"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/tools/mcp/mcptest"
	"rouse/tools/notebook/notebooktest"
)

func TestMain(m *testing.M) {
	// Scripts mostly wait for processes of theirs; on the command line -parallel beats this.
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	testscript.Main(m, map[string]func(){"rouse": func() { process(later) }, "mcpserver": func() { mcptest.Main(os.Args[1]) }, "open": visitPage, "xdg-open": visitPage})
}

// TestScript runs the command lines of testdata/script, which read as the manual.
//
// Beside the commands of testscript there are: mcpserver MODE, a program ; exits
// CODE PROGRAM ARG... ; page
// FILE, a web server for its folder at $PAGE ;
// model FILE, a chat server that answers with the lines of FILE ; requests N
// [PATTERN], how many requests it got and what the last one holds ; waitfor
// PATTERN GLOB, until a file holds what matches ; signal NAME HOME, to the
// process of the newest cycle ; cycle HOME, which names that $CYCLE ; later 1m or 1h, the next full one and
// a second for what is started from then on ; recipes PAGE, the files of a page of docs in doc ; fake FILE, a server at $FAKE
// that keeps what is asked of it ; oauth [gone|over], an MCP server at $OAUTH that wants a login, or takes its token or all of it back ; venv FOLDER, a Python environment for a notebook
// that has none, as making one takes seconds. And there are the conditions sandbox and
// bubblewrap: what this machine confines processes with.
func TestScript(t *testing.T) {
	first := newRig(t)
	if sweep.Of(true, false, false) { // else with pip
		first.env = append(first.env, "PATH="+notebooktest.UV(t))
	}
	made := sync.OnceValue(func() outcome { return first.rouse("notebook", "exec", "lab", "1") })
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("NPM", npm())
			e.Vars = append(e.Vars, noRest, "GOGC="+sweep.Of("off", "100", "100")) // most end before much is garbage
			e.Values[server] = new(*modeltest.Server)
			e.Values[oauth] = &mcptest.OAuth{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "page": servePage, "model": startModel, "requests": requests, "body": sentBody, "waitfor": waitfor, "signal": signalCycle, "cycle": newestCycle, "later": passTime, "recipes": writeBlocks, "fake": serveFake, "oauth": serveOAuth,
			"venv": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: venv FOLDER")
				}
				if o := made(); o.code != 0 {
					ts.Fatalf("%s", o.stderr)
				}
				ts.Check(os.CopyFS(ts.MkAbs(args[0]+"/venv"), os.DirFS(first.path("notebooks/lab/venv")))) // a link would lead through walls
			},
		},
		Condition:          conditions(t),
		RequireUniqueNames: true,
	})
}

// serveOAuth has a server that wants a login.
func serveOAuth(ts *testscript.TestScript, neg bool, args []string) {
	o := ts.Value(oauth).(*mcptest.OAuth)
	if len(args) == 0 {
		s := httptest.NewServer(o)
		ts.Defer(s.Close)
		ts.Setenv("OAUTH", s.URL)
	}
	o.Lock()
	defer o.Unlock()
	o.Over, o.Gone = len(args) > 0 && args[0] == "over", len(args) > 0
}

// visitPage is a browser whose user is logged in everywhere.
func visitPage() {
	if resp, err := http.Get(os.Args[1]); err == nil {
		resp.Body.Close()
	}
}

// later is the time, and $LATER more.
func later() time.Time {
	d, _ := time.ParseDuration(os.Getenv("LATER")) // else none
	return time.Now().Add(d)
}

func passTime(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: later DURATION")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	so, _ := time.ParseDuration(ts.Getenv("LATER")) // far, or none
	slot := time.Now().Add(so).Truncate(d).Add(d)
	ts.Setenv("LATER", time.Until(slot.Add(time.Second)).String())
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	err = ts.Exec(args[1], args[2:]...)
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// server is the value that a script's model is kept under.
const server, oauth = "the model's server", "a server that wants a login"

func startModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	s, err := modeltest.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv("OPENAI_BASE_URL", s.URL())
	*ts.Value(server).(**modeltest.Server) = s
}

// servePage serves a file on loopback; its host and port are $PAGE.
func servePage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page FILE")
	}
	s := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(ts.MkAbs(args[0])))))
	ts.Defer(s.Close)
	ts.Setenv("PAGE", strings.TrimPrefix(s.URL, "http://"))
}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args) > 2 || neg && len(args) < 2 {
		ts.Fatalf("usage: [!] requests N [PATTERN]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := (*ts.Value(server).(**modeltest.Server)).Requests()
	if len(got) != want {
		ts.Fatalf("%d requests, want %d", len(got), want)
	}
	if len(args) == 2 && regexp.MustCompile(args[1]).Match(got[want-1].Body) == neg {
		ts.Fatalf("the last request and %q: %s", args[1], got[want-1].Body)
	}
}

// sentBody writes the body of the Nth request that the model got into a file.
func sentBody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: body N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := (*ts.Value(server).(**modeltest.Server)).Requests()
	if n < 1 || n > len(got) {
		ts.Fatalf("%d requests", len(got))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), got[n-1].Body, 0o600))
}

func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor PATTERN GLOB")
	}
	pattern := regexp.MustCompile(args[0])
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 12_000 {
		files, err := filepath.Glob(ts.MkAbs(args[1]))
		ts.Check(err)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && pattern.Match(data) {
				return
			}
		}
		<-tick.C
	}
	ts.Fatalf("nothing in %s matches %s", args[1], args[0])
}

func newestCycle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cycle HOME")
	}
	ts.Setenv("CYCLE", newestOf(ts, home.Home{Dir: ts.MkAbs(args[0])}))
}

func newestOf(ts *testscript.TestScript, h home.Home) string {
	ids, err := h.Cycles(1)
	ts.Check(err)
	if len(ids) == 0 {
		ts.Fatalf("no cycle in %s", h.Dir)
	}
	return ids[0]
}

func signalCycle(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	if neg || len(args) != 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal TERM|INT|HUP|KILL HOME")
	}
	home := home.Home{Dir: ts.MkAbs(args[1])}
	for e, err := range journal.Read(home.Journal(newestOf(ts, home))) {
		ts.Check(err)
		ts.Check(syscall.Kill(e.Data.(*journal.Wake).Owner.PID, signals[args[0]]))
		return
	}
}
