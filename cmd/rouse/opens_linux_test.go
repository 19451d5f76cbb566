package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A due slot opens what a home is made of, and its ledgers, at most twice each: to
// read and to write, or for the cycle and for the copy of what it was made of. It
// asks for a name a few times, and not once for each file that there could be. A
// cycle after that, made of the same, copies nothing; and the status lists the
// cycles once for each of its parts that are about them.
func TestOpenedOnce(t *testing.T) {
	r := newRig(t)
	r.serve(call("echo", `{"message": "1"}`), call("echo", `{"message": "2"}`), done(), done())
	r.write("scratchpad/active.yaml", "goals: [look around]\n")
	r.write("prices.yaml", "models: {gpt-5-mini: {input: 1, output: 2}}\n")
	r.write("rouse.yaml", "schedule: '* * * * *'\nlimits: {day: {money: 10, tokens: 1000000, calls: 100}}\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(r.path("rouse.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	opened, asked := r.traced("run", "--due")
	for _, name := range []string{"rouse.yaml", "prices.yaml", "rules.md", "logs/spend.jsonl", "logs/ledger.jsonl"} {
		if n := opened[name]; n == 0 || n > 2 {
			t.Errorf("%s was opened %d times", name, n)
		}
	}
	for name, n := range asked {
		if n > 20 {
			t.Errorf("%s was asked for %d times", name, n)
		}
	}
	opened, _ = r.traced("run")
	for name := range opened {
		if strings.HasPrefix(name, "logs/made/") {
			t.Errorf("%s was opened, though a copy was there", name)
		}
	}
	opened, _ = r.traced("status")
	if n := opened["logs"]; n > 3 {
		t.Errorf("the status opened logs %d times", n)
	}
}

// traced runs a verb and counts which files of the home it opens, and which names
// it asks for.
func (r *rig) traced(args ...string) (opened, asked map[string]int) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		r.t.Skip("strace is not installed")
	}
	cmd, cancel := r.command(args...)
	defer cancel()
	trace := filepath.Join(r.t.TempDir(), "trace")
	cmd.Path, cmd.Args = strace, append([]string{"strace", "-f", "-qq", "-e", "trace=openat,newfstatat", "-o", trace, cmd.Path}, cmd.Args[1:]...)
	if o := r.finish(cmd, cmd.Start); o.code != 0 {
		r.t.Fatalf("%+v", o)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		r.t.Fatal(err)
	}
	opened, asked = map[string]int{}, map[string]int{}
	for _, m := range regexp.MustCompile(`openat\([^"]*"`+regexp.QuoteMeta(r.home)+`/([^"]+)".*= \d+`).FindAllSubmatch(text, -1) {
		opened[string(m[1])]++
	}
	for _, m := range regexp.MustCompile(`newfstatat\([^"]*"(/[^"]+)"`).FindAllSubmatch(text, -1) {
		asked[string(m[1])]++
	}
	return opened, asked
}
