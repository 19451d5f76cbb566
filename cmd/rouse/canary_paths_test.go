package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/internal/sweep"
	"rouse/scratchpad/observation"
	"rouse/tools/mcp/mcptest"
)

// meeting is one way in which a cycle meets the secrets.
type meeting struct {
	name    string
	replies []modeltest.Reply
	state   string // the operator's memory
	task    string
	signal  syscall.Signal // sent once workspace/started is there
	exit    int
	server  string // what an MCP server tells in every way
}

const waits = "touch started; exec sleep 300"

func inShell(command string) modeltest.Reply {
	return call("shell", `{"command": `+quote(command)+`, "timeout_seconds": 1}`)
}

func quote(s string) string { return `"` + inJSON(s, false) + `"` }

// escaped is a text in needless JSON escapes.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func (c *canaries) toolMeetings(pages string) []meeting {
	get := func(path string) modeltest.Reply { return call("http_get", `{"url": `+quote(pages+path)+`}`) }
	return []meeting{
		{name: "output", replies: []modeltest.Reply{inShell("cat leak.txt"), inShell("cat leak.txt >&2; exit 3"), done()}},
		{name: "over a timeout", replies: []modeltest.Reply{inShell("cat leak.txt; sleep 300"), done()}},
		{name: "split over chunks", replies: []modeltest.Reply{inShell("i=0; while [ $i -lt 100 ]; do dd if=leak.txt bs=61 skip=$i count=1 2>/dev/null; i=$((i+1)); done"), done()}},
		{name: "binary output", replies: []modeltest.Reply{inShell(`printf '\000\377'; cat leak.txt`), inShell(`cat leak.txt; printf '\377'`), done()}},
		{name: "large output", replies: []modeltest.Reply{inShell("for i in $(seq 27); do cat leak.txt; done"), done()}},
		{name: "parked output", replies: []modeltest.Reply{inShell("i=0; while [ $i -lt 60 ]; do cat leak.txt; i=$((i+1)); done"),
			call("scratchpad_read", `{"scratchpad_id": "{{step1.scratchpad_id}}", "mode": "lines"}`),
			call("scratchpad_keep", `{"scratchpad_id": "{{step1.scratchpad_id}}", "label": `+quote(c.plain())+`}`),
			call("write_file", `{"path": "copy.txt", "content": "{{step1.content}}"}`), done()}},
		{name: "files", replies: []modeltest.Reply{call("read_file", `{"path": "leak.txt"}`), call("read_file", `{"path": "leak.txt", "start_line": 3, "lines": 2}`),
			call("list_files", `{"path": "names"}`), call("read_file", `{"path": "names"}`), done()}},
		{name: "http body", replies: []modeltest.Reply{get("/body"), get("/error"), get("/header"), done()}},
		{name: "http redirects", replies: []modeltest.Reply{get("/redirect"), get("/away"), get("/private"), done()}},
		{name: "what a child sees", replies: []modeltest.Reply{inShell("cat /proc/self/environ; tr '\\000' ' ' </proc/$PPID/cmdline; set; env; ps axe 2>&1"), done()}},
		{name: "SIGKILL", signal: syscall.SIGKILL, exit: -1, replies: []modeltest.Reply{inShell("cat leak.txt"), inShell("cat leak.txt; " + waits)}},
		{name: "SIGTERM", signal: syscall.SIGTERM, exit: 143, replies: []modeltest.Reply{inShell("cat leak.txt; " + waits)}},
		{name: "SIGQUIT, a stack trace", signal: syscall.SIGQUIT, exit: 2, replies: []modeltest.Reply{inShell("cat leak.txt; " + waits)}},
	}
}

// serverMeetings are with an MCP server that has a secret from somewhere. The ids
// of what is parked are not known here, so that is read by `rouse observation`.
func (c *canaries) serverMeetings() (list []meeting) {
	for i, secret := range []string{c.values[0], c.plain()} {
		list = append(list, meeting{name: fmt.Sprintf("MCP server %d", i), server: secret, replies: []modeltest.Reply{
			call("leaky__show", `{}`), call("leaky__say", `{}`), call("leaky__say", `{"`+secret[:8]+`": {}}`), done()}})
	}
	return list
}

func (c *canaries) modelMeetings() []meeting {
	failing := func(name string, r modeltest.Reply) meeting {
		return meeting{name: name, exit: 1, replies: []modeltest.Reply{r, r, r}}
	}
	location := map[string]string{"Location": "http://127.0.0.1:1/" + url.PathEscape(c.values[0]) + "?" + url.QueryEscape(c.values[1])}
	return []meeting{
		failing("prose", modeltest.Reply{Text: c.leak}),
		failing("damaged JSON", modeltest.Reply{Text: `{"tool": "shell", "args": {"command": ` + quote(c.once) + `, ` + c.plain()}),
		failing("cut off", modeltest.Reply{Text: c.leak, Finish: "length"}),
		{name: "arguments", replies: []modeltest.Reply{call("echo", `{"message": `+quote(c.once)+`}`), call("echo", `{"message": "`+escaped(c.leak)+`"}`),
			call("shell", `{"command": `+quote("echo '"+c.plain()+"' $0; exit 4")+`}`), call("write_file", `{"path": "`+c.plain()+`", "content": "x"}`),
			call("read_file", `{"path": "no/`+c.plain()+`"}`), call("echo", `{"`+c.plain()+`": 1}`), done()}},
		{name: "native call", replies: []modeltest.Reply{{Calls: []model.Call{{ID: c.plain(), Name: "echo", Args: json.RawMessage(`{"message": ` + quote(c.once) + `}`)}}},
			{Calls: []model.Call{{ID: "1", Name: c.plain(), Args: json.RawMessage(`{"a": "` + escaped(c.values[0]) + `"}`)}}}, done()}},
		{name: "update", replies: []modeltest.Reply{call("update_scratchpad", `{"found": `+quote(c.once)+`, "`+c.plain()+`": [{"`+escaped(c.key())+`": "`+escaped(c.values[1])+`"}]}`), done()}},
		{name: "summary", replies: []modeltest.Reply{call("done", `{"summary": `+quote(c.once)+`}`)}},
		{name: "unknown tool", replies: []modeltest.Reply{call(c.plain(), `{}`), call(escaped(c.values[0]), `{"a": `+quote(c.once)+`}`), done()}},
		failing("HTTP 401", modeltest.Reply{Status: 401, Text: "bad key " + c.key() + " " + c.leak}),
		failing("HTTP 400", modeltest.Reply{Status: 400, Body: c.leak}),
		failing("HTTP 500 and a retry", modeltest.Reply{Status: 500, Text: c.leak, Headers: map[string]string{"Retry-After": "0"}}),
		failing("redirect", modeltest.Reply{Status: 307, Headers: location}),
		failing("error in a reply", modeltest.Reply{Body: `{"error": {"message": ` + quote(c.once) + `, "code": "` + c.plain() + `"}}`}),
		failing("HTML page", modeltest.Reply{Body: "<html>" + c.leak, Headers: map[string]string{"Content-Type": "text/" + c.plain()}}),
		failing("not JSON", modeltest.Reply{Body: c.leak}),
		{name: "task", task: "use " + c.leak, replies: []modeltest.Reply{done()}},
		{name: "the operator's memory", state: "current_task: use " + quote(c.values[0]) + "\npending_actions: [" + quote(c.values[1]) + ", " + quote(c.plain()) + "]\n",
			replies: []modeltest.Reply{call("update_scratchpad", `{"seen": 1}`), done()}},
	}
}

// pages is a web site that tells the secrets in every place that it has.
func (c *canaries) pages(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Leak", c.plain()+" "+c.key())
		switch r.URL.Path {
		case "/error":
			w.WriteHeader(500)
		case "/redirect":
			http.Redirect(w, r, "/body?"+url.QueryEscape(c.values[0]), http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://10.0.0.1/"+url.PathEscape(c.values[1]), http.StatusTemporaryRedirect)
		case "/private":
			http.Redirect(w, r, "gopher://"+c.plain()+"/", http.StatusMovedPermanently)
		}
		fmt.Fprint(w, c.leak)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestCanary lets real cycles meet secrets in every way that we know and looks
// for them in everything that the program leaves, shows and sends. A quick test takes
// a third of the ways, among them that which parks.
func TestCanary(t *testing.T) {
	t.Parallel()
	c := newCanaries()
	site := c.pages(t)
	sinks, list := 0, slices.Concat(c.toolMeetings(site.URL), c.modelMeetings(), c.serverMeetings())
	for i := sweep.Of(2, 0, 0); i < len(list); i += sweep.Of(3, 1, 1) {
		m := list[i]
		t.Run(m.name, func(t *testing.T) {
			sinks += c.meet(t, m, strings.TrimPrefix(site.URL, "http://"), i)
		})
	}
	if c.large == 0 {
		t.Errorf("%d observations were parked, none in a file: the looks into them mean nothing", c.parked)
	}
	t.Logf("hits %d / %d sinks in %d ways, %d forms each; %d observations looked into, %d of them in files",
		c.hits, sinks, len(list), len(c.needles), c.parked, c.large)
}

// meet runs the cycle, and one after it, and gives the number of sinks. A quick test
// has each verb show what some of the meetings left, from the nth on.
func (c *canaries) meet(t *testing.T, m meeting, site string, n int) (sinks int) {
	r := newRig(t)
	r.env = c.env
	r.write("rouse.yaml", fmt.Sprintf("secrets: [MY_PIN]\nmodel: {retries: 1}\ntools: {http: {allow: [%q]}}\n", site))
	r.write("workspace/leak.txt", c.leak)
	r.write("workspace/names/"+c.plain(), "")
	if m.state == "" {
		r.write("scratchpad/active.yaml", "current_task: look around\n")
	} else {
		r.write("scratchpad/active.yaml", m.state)
	}
	if m.server != "" {
		r.write(mcptest.LeakFile, m.server)
		r.write(".mcp.json", `{"mcpServers": {"leaky": {"command": "mcpserver", "args": ["leak"]}}}`)
	}
	server := r.serve(m.replies...)
	look := func(what string, o outcome) {
		sinks += 2
		c.look(t, what+", stdout", o.stdout)
		c.look(t, what+", stderr", o.stderr)
	}
	first := c.first(r, m)
	if first.code != m.exit {
		t.Errorf("exit %d with %q, want %d", first.code, first.stderr, m.exit)
	}
	look("run", first)
	next := r.serve(done())
	if o := r.rouse("run", "--json"); o.code != 0 {
		t.Errorf("the next run: exit %d with %q", o.code, o.stderr)
	} else {
		look("next run", o)
	}
	for _, req := range append(server.Requests(), next.Requests()...) {
		sinks++
		req.Header.Del("Authorization") // where the key belongs
		c.look(t, "a request", fmt.Sprint(req.Path, req.Header, string(req.Body), decoded(".jsonl", req.Body)))
	}
	operators := func(name string) bool { return m.state != "" && strings.HasSuffix(name, ".yaml") }
	// A server's binary contents are kept as they are.
	binaries := func(rel string) bool { return m.server != "" && strings.HasPrefix(rel, "scratchpad/observations.db") }
	// What a tool writes into the workspace is the tool's, there and in its history.
	sinks += c.files(t, r.home, func(rel string) bool {
		return rel == "workspace" || rel == "logs/history" || operators(rel) || binaries(rel)
	})
	if m.server == "" {
		sinks += c.observed(t, filepath.Join(r.home, "scratchpad"))
	}
	if m.state != "" {
		return sinks
	}
	verbs := []string{"status", "status --json", "cycles", "log", "log --json", "diff", "diff --json", "diff -u", "run --dry-run", "doctor",
		"observation list --all", "observation list --all --json"}
	if m.server != "" {
		verbs = append(verbs, "mcp list", "mcp list --json", "mcp call leaky show", "mcp call leaky say", "mcp accept leaky")
		verbs = append(verbs, r.readings()...)
	}
	step := sweep.Of(4, 1, 1)
	for i := n % step; i < len(verbs); i += step {
		look(verbs[i], r.rouse(strings.Fields(verbs[i])...))
	}
	return sinks
}

// readings read every observation in every mode.
func (r *rig) readings() (verbs []string) {
	var list []observation.Entry
	if o := r.rouse("observation", "list", "--all", "--json"); json.Unmarshal([]byte(o.stdout), &list) != nil || len(list) == 0 {
		r.t.Errorf("no observations: %q, %q", o.stdout, o.stderr)
	}
	for _, e := range list {
		read := "observation read " + e.ID
		verbs = append(verbs, read, "observation grep "+e.ID+" .", read+" --mode tail -n 30", read+" --mode lines --start 1")
		for at := 4; at < 60; at += 5 {
			verbs = append(verbs, fmt.Sprintf("%s --mode range --start %d --end %d", read, at, at+16))
		}
	}
	return verbs
}

func (c *canaries) first(r *rig, m meeting) outcome {
	if m.signal != 0 {
		return r.signalled(m.signal, "workspace/started")
	}
	args := []string{"run"}
	if m.task != "" {
		args = append(args, "--task", m.task)
	}
	return r.rouse(args...)
}
