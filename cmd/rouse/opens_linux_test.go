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

// A due slot opens each file of the home at most twice: to read and to write, or for
// the cycle and for the copy of what it was made of. The memory is read to see what
// the slot could cost, and again when it is to be replaced, as a person may have
// edited it. The end of the last journal is read three times: was it a failure, what
// would a cycle ask, and, once the home is locked, did it sleep. Folders are listed
// for each of these, too, and synced for each file whose name must last.
//
// It asks for a name a few times, and not once for each file that there could be. A
// cycle after that, made of the same, copies nothing; and the status lists the
// cycles once for each of its parts that are about them, and foresees the next one.
func TestOpenedOnce(t *testing.T) {
	r := newRig(t)
	r.serve(done(), call("echo", `{"message": "1"}`), call("echo", `{"message": "2"}`), done(), done())
	r.write("scratchpad/active.yaml", "goals: [look around]\n")
	r.write("prices.yaml", "models: {gpt-5-mini: {input: 1, output: 2}}\n")
	if o := r.rouse("run"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	most := map[string]int{"logs": 7, "scratchpad": 3}
	for _, path := range r.glob("logs/cycle_*.jsonl") {
		most["logs/"+filepath.Base(path)] = 3
	}
	r.write("rouse.yaml", "schedule: '* * * * *'\nlimits: {day: {money: 10, tokens: 1000000, calls: 100}}\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(r.path("rouse.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	opened, asked := r.traced("run", "--due")
	for _, name := range []string{"rouse.yaml", "prices.yaml", "rules.md", "scratchpad/active.yaml", "logs/spend.jsonl", "logs/spend.lock", "logs/ledger.jsonl"} {
		if opened[name] == 0 {
			t.Errorf("%s was not opened", name)
		}
	}
	for name, n := range opened {
		if n > max(2, most[name]) {
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
