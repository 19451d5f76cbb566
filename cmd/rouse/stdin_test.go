package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/agent/model/modeltest"
)

// unattended are command lines that nobody watches.
var unattended = [][]string{
	{"run"}, {"run", "--due"}, {"run", "--task", "look", "--json"}, {"run", "--quiet"}, {"doctor", "--unattended"}, {"status"}, {"slots"},
	{"cost"}, {"pause"}, {"resume"}, {"install", "--print", "@daily"}, {"reset"},
}

// curious is a home whose model, tools and notifications all try to read.
func curious(t *testing.T) *rig {
	r := newRig(t)
	var replies []modeltest.Reply
	for _, command := range []string{"cat", "read line && echo $line", "cat </dev/tty", "cat <&0 | wc -c", "sh -i"} {
		replies = append(replies, call("shell", `{"command": "`+command+`"}`))
	}
	replies = append(replies, done(), modeltest.Reply{Status: 401, Repeat: true})
	s := modeltest.New(replies...)
	t.Cleanup(s.Close)
	r.write("rouse.yaml", "model: {base_url: "+s.URL()+", retries: 0}\nschedule: '@every 1s'\nlimits: {day: {tokens: 1000000}}\n"+
		"notify: [{command: [sh, -c, 'cat >/dev/null; cat']}]\ncycle: {timeout: 20s}\n")
	r.write("scratchpad/active.yaml", "current_task: look\n")
	return r
}

// P47: without a terminal nothing reads from standard input, and so nothing waits
// there: of what lies ready nothing is taken, from a pipe that stays empty nobody
// waits for something, and it may be closed.
func TestNobodyReadsStdin(t *testing.T) {
	t.Parallel()
	const ready = "yes\nyes\nyes\n"
	runs, slowest := 0, time.Duration(0)
	for _, kind := range []string{"full", "empty", "closed"} {
		r := curious(t)
		for _, args := range unattended {
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd, cancel := r.command(args...)
			switch kind {
			case "closed":
				program, err := exec.LookPath("rouse")
				if err != nil {
					t.Fatal(err)
				}
				cmd.Path, cmd.Args = "/bin/sh", slices.Concat([]string{"sh", "-c", `exec "$0" "$@" <&-`, program}, args)
			case "full":
				if _, err := out.WriteString(ready); err != nil {
					t.Fatal(err)
				}
				fallthrough
			default:
				cmd.Stdin = in
			}
			began := time.Now()
			o := r.finish(cmd, cmd.Start)
			cancel()
			slowest = max(slowest, time.Since(began))
			if runs++; o.code == -1 || strings.Contains(o.stderr, "timeout") {
				t.Errorf("%s, %q: waited: exit %d, %s", kind, args, o.code, o.stderr)
			}
			out.Close()
			left := make([]byte, 100)
			if n, _ := in.Read(left); kind == "full" && string(left[:n]) != ready {
				t.Errorf("%q: of standard input %q is left", args, left[:n])
			}
			in.Close()
		}
		asked := 0
		for _, name := range r.glob("logs/cycle_*.jsonl") {
			asked += strings.Count(r.read(strings.TrimPrefix(name, r.home+"/")), `"event":"started"`)
		}
		if asked < 5 {
			t.Errorf("%s: only %d programs that want to read were started", kind, asked)
		}
	}
	t.Logf("P47: %d command lines without a terminal: waits 0, bytes read from standard input 0, the slowest took %s", runs, slowest.Round(time.Millisecond))
}
