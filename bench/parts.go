package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"rouse/agent/model/modeltest"
	"rouse/bench/o200k"
)

// Goals.
const (
	maxRatio  = 2.0  // of wall time and of CPU time to the bare program's
	maxPeak   = 16   // MiB
	maxBinary = 30   // MiB
	maxAge    = 10   // ms that old cycles may add
	maxFirst  = 1500 // tokens
)

func binary(p programs, _ int) error {
	bytes, static, err := p.size("rouse")
	if err != nil {
		return err
	}
	size := float64(bytes) / (1 << 20)
	fmt.Printf("\nbinary\n  %-34s %8.1f MiB       goal %d  %s\n", "size, stripped", size, maxBinary, verdict(size <= maxBinary))
	fmt.Printf("  %-34s %8t           goal %t  %s\n", "static", static, true, verdict(static))
	return nil
}

// start compares the start of the program with that of a Go program that does
// nothing.
func start(p programs, n int) error {
	costs, err := p.series(n, command{argv: []string{"rouse", "version"}}, command{argv: []string{"hello"}})
	if err != nil {
		return err
	}
	heading("start", "rouse version", "hello world")
	compare("wall, ms", costs, wall, 0)
	compare("CPU, ms", costs, cpu, 0)
	compare("peak memory, MiB", costs, peak, 0)
	return nil
}

// task is the memory of a home with something to do.
const task = "goals: []\ncurrent_task: tell the time\npending_actions: []\ncompleted_tasks: []\nnotes: \"\"\nlast_updated: null\n"

// coldCycle compares a whole cycle with one call to the bare program, each
// against an instant server of its own.
func coldCycle(p programs, n int) error {
	home, plain := p.path("home"), p.path("plain")
	if err := newHome(p, home); err != nil {
		return err
	}
	if err := os.Mkdir(plain, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "rouse.yaml"), nil, 0o600); err != nil { // the bare program has no walls
		return err
	}
	ready := func() error { return renew(home, task) }
	bodies, err := requests(p, command{argv: []string{"rouse", "run"}, dir: home, ready: ready})
	if err != nil {
		return err
	}
	ours, theirs := modeltest.New(replies(n+warmUps)...), modeltest.New(replies(n+warmUps)...)
	defer ours.Close()
	defer theirs.Close()
	costs, err := p.series(n,
		command{argv: []string{"rouse", "run"}, dir: home, env: modelEnv(ours), ready: ready},
		command{argv: []string{"bare", theirs.URL(), strconv.Itoa(len(bodies[0])), strconv.Itoa(len(bodies[1]))}, dir: plain})
	if err != nil {
		return err
	}
	heading("cycle with one call", "rouse run", "bare program")
	compare("wall, ms", costs, wall, maxRatio)
	compare("CPU, ms", costs, cpu, maxRatio)
	compare("peak memory, MiB", costs, peak, 0)
	bounded(costs[0], maxPeak)
	return nil
}

// replies are those of a model for so many cycles: a call, then done.
func replies(cycles int) []modeltest.Reply {
	var list []modeltest.Reply
	for range cycles {
		list = append(list,
			modeltest.Reply{Action: json.RawMessage(`{"tool": "shell", "args": {"command": "date -u"}}`)},
			modeltest.Reply{Action: json.RawMessage(`{"tool": "done", "args": {"summary": "told the time"}}`)})
	}
	return list
}

func modelEnv(s *modeltest.Server) []string { return []string{"OPENAI_BASE_URL=" + s.URL()} }

// firstRequest says what the first request of a new home costs, part by part.
func firstRequest(p programs, _ int) error {
	home := p.path("first")
	if err := newHome(p, home); err != nil {
		return err
	}
	bodies, err := requests(p, command{argv: []string{"rouse", "run"}, dir: home})
	if err != nil {
		return err
	}
	parts, err := o200k.Of(bodies[0])
	if err != nil {
		return err
	}
	fmt.Printf("\nfirst request of a new home, tokens of o200k\n")
	for _, part := range parts[:len(parts)-1] {
		fmt.Printf("  %-34s %8d\n", part.Name, part.Tokens)
	}
	all := parts[len(parts)-1].Tokens
	fmt.Printf("  %-34s %8d            goal %d  %s\n", "all of it", all, maxFirst, verdict(all <= maxFirst))
	return nil
}

// requests are the bodies that a cycle sends.
func requests(p programs, c command) ([][]byte, error) {
	s := modeltest.New(replies(1)...)
	defer s.Close()
	c.env = modelEnv(s)
	if _, err := p.run(c); err != nil {
		return nil, err
	}
	var bodies [][]byte
	for _, r := range s.Requests() {
		bodies = append(bodies, r.Body)
	}
	if len(bodies) != 2 {
		return nil, fmt.Errorf("a cycle sent %d requests, not 2", len(bodies))
	}
	return bodies, nil
}

// old is how many old cycles a home has after some months.
const old = 10_000

// idle is the memory of a home without anything to do.
const idle = "goals: []\ncurrent_task: null\n"

// oldCycles compares a home with many old cycles to a new one.
func oldCycles(p programs, n int) error {
	young, aged := p.path("young"), p.path("aged")
	for _, dir := range []string{young, aged} {
		if err := newHome(p, dir); err != nil {
			return err
		}
		if err := renew(dir, idle); err != nil {
			return err
		}
		if _, err := p.run(command{argv: []string{"rouse", "run"}, dir: dir}); err != nil {
			return err
		}
	}
	if err := age(aged, old); err != nil {
		return err
	}
	heading(fmt.Sprintf("%d old cycles, wall in ms", old), "aged home", "new home")
	for _, verb := range []string{"run", "status", "cycles"} {
		costs, err := p.series(n, command{argv: []string{"rouse", verb}, dir: aged}, command{argv: []string{"rouse", verb}, dir: young})
		if err != nil {
			return err
		}
		adds(verb, costs, maxAge)
	}
	return nil
}
