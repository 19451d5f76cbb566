package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"rouse/agent/model/modeltest"
)

// What the history of the workspace may add to a cycle, in ms of CPU time.
const (
	maxLooked = 1.0  // where nothing changed
	maxScan   = 50.0 // the same in 10,000 files, which are looked at twice: 25 each
	maxKept   = 85.0 // where ten of them did: a look, and a version at 60
)

// historyCost compares cycles with and without versions of the workspace: a call that
// changes nothing, in an empty workspace and in one of 10,000 files, and one that
// changes ten of these.
func historyCost(p programs, n int) error {
	heading("history of the workspace, CPU in ms", "with", "without")
	const change = `for i in 0 1 2 3 4 5 6 7 8 9; do date +%N >$i/$i; done`
	for i, c := range []struct {
		name, shell string
		files       int
		goal        float64
	}{
		{"cycle with one call", "date -u", 0, maxLooked},
		{"the same, 10,000 files", "date -u", 10_000, maxScan},
		{"10 of 10,000 files changed", change, 10_000, maxKept},
	} {
		with, err := historyHome(p, fmt.Sprint("with", i), "auto", c.files)
		if err != nil {
			return err
		}
		without, err := historyHome(p, fmt.Sprint("without", i), "off", c.files)
		if err != nil {
			return err
		}
		costs, err := p.series(n, calling(with, c.shell, n), calling(without, c.shell, n))
		if err != nil {
			return err
		}
		a, b := figures(costs[0], cpu), figures(costs[1], cpu)
		more := median(pairs(a, b, func(x, y float64) float64 { return x - y }))
		fmt.Printf("  %-34s %-26s %-26s %+.2f, goal %g  %s\n", c.name, spread(a), spread(b), more, c.goal, verdict(more <= c.goal))
	}
	return nil
}

// historyHome makes a home with so many files, and lets it have its first version.
func historyHome(p programs, name, history string, files int) (string, error) {
	home := p.path(name)
	if err := newHome(p, home); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(home, "rouse.yaml"), []byte("history: {workspace: "+history+"}\n"), 0o600); err != nil {
		return "", err
	}
	for i := range files {
		path := filepath.Join(home, "workspace", strconv.Itoa(i%100), strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "content %d\n", i), 0o600); err != nil {
			return "", err
		}
	}
	_, err := p.run(calling(home, "date -u", 0))
	return home, err
}

// calling is a cycle with one call of the shell, against an instant server.
func calling(home, shell string, n int) command {
	var list []modeltest.Reply
	for range n + warmUps {
		call, _ := json.Marshal(map[string]any{"tool": "shell", "args": map[string]string{"command": shell}}) // plain texts
		list = append(list, modeltest.Reply{Action: call}, modeltest.Reply{Action: json.RawMessage(`{"tool": "done", "args": {"summary": "done"}}`)})
	}
	s := modeltest.New(list...) // which ends with the benchmark
	return command{argv: []string{"rouse", "run"}, dir: home, env: modelEnv(s), ready: func() error { return renew(home, task) }}
}
