package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/internal/sweep"
)

// P18: twenty processes, ten in a quick test, race for one budget. Their homes differ, as a home lets
// only one cycle be awake, but they share one ledger of spending. What the server
// counted exceeds the limit at most by what the replies in flight exceeded their
// reservations: here some are longer than max_output allows.
func TestRaceForOneBudget(t *testing.T) {
	const input, output, longer = 3000, 100, 30
	racers := sweep.Of(10, 20, 20)
	limit := racers * 20_000
	var replies []modeltest.Reply
	for i := range 400 {
		r := call("echo", fmt.Sprintf(`{"message": "%d"}`, i))
		r.Usage = &model.Usage{Input: input, Output: output}
		if i%3 == 0 {
			r.Usage.Output += longer
		}
		replies = append(replies, r)
	}
	server := modeltest.New(replies...)
	t.Cleanup(server.Close)
	root := t.TempDir()
	codes := make([]int, racers)
	var wg sync.WaitGroup
	for i := range racers {
		r := &rig{t: t, home: filepath.Join(root, fmt.Sprint(i))}
		r.env = []string{"OPENAI_BASE_URL=" + server.URL()}
		r.write("rules.md", "You are Rouse.\n")
		r.write("scratchpad/active.yaml", "current_task: spend\n")
		r.write("rouse.yaml", fmt.Sprintf("model: {max_output: %d}\ncycle: {max_iterations: 500}\nlimits: {day: {tokens: %d}}\n", output, limit))
		if err := os.Mkdir(r.path("logs"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"spend.jsonl", "spend.lock"} {
			if err := os.Symlink(filepath.Join(root, name), r.path("logs/"+name)); err != nil {
				t.Fatal(err)
			}
		}
		wg.Go(func() {
			o := r.rouse("run")
			if codes[i] = o.code; !strings.Contains(o.stderr, "day_tokens: ") {
				t.Errorf("process %d: exit %d, %s", i, o.code, o.stderr)
			}
		})
	}
	wg.Wait()
	spent := 0
	n := len(server.Requests())
	for _, r := range replies[:min(n, len(replies))] {
		spent += r.Usage.Input + r.Usage.Output
	}
	for i, code := range codes {
		if code != 3 {
			t.Errorf("process %d: exit %d, want 3", i, code)
		}
	}
	if over := spent - limit; over > racers*longer || spent < limit/2 {
		t.Errorf("%d tokens of %d were spent", spent, limit)
	}
	t.Logf("P18: %d processes, %d requests: %d of %d tokens spent, over by %d, %d allowed", racers, n, spent, limit, max(0, spent-limit), racers*longer)
}
