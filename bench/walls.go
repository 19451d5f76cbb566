package main

import (
	"fmt"
	"os"
	"path/filepath"

	"rouse/agent/model/modeltest"
)

// walling is a way in which the call of a cycle is confined, and what that may add to the
// cycle, in milliseconds.
type walling struct {
	name, config string
	bare         bool // the PATH has no bubblewrap
	goal         float64
}

func wallings() []walling {
	return []walling{
		{name: "no walls", config: "posture: careful\nsandbox: {mode: 'off'}\n"},
		{name: "Landlock", config: "posture: careful\n", bare: true, goal: 0.5},
		{name: "bubblewrap, no network", config: "posture: careful\nsandbox: {network: none}\n", goal: 6},
		{name: "bubblewrap, listed hosts", config: "posture: careful\nsandbox: {hosts: [pypi.org]}\n", goal: 9},
	}
}

// walls compares a cycle with one call whose process is confined to the same without
// walls, each in a home and against an instant server of its own.
func walls(p programs, n int) error {
	bare, err := bareFolder(p)
	if err != nil {
		return err
	}
	var commands []command
	for i, w := range wallings() {
		dir := p.path(fmt.Sprintf("walls%d", i))
		if err := newHome(p, dir); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "rouse.yaml"), []byte(w.config), 0o600); err != nil {
			return err
		}
		server := modeltest.New(replies(n + warmUps)...)
		defer server.Close()
		env := append(modelEnv(server), "HOME="+p.dir)
		if w.bare {
			env = append(env, "PATH="+bare)
		}
		commands = append(commands, command{argv: []string{"rouse", "run"}, dir: dir, env: env, ready: func() error { return renew(dir, task) }})
	}
	costs, err := p.series(n, commands...)
	if err != nil {
		return err
	}
	heading("cycle with one call, wall in ms", "confined", "no walls")
	for i, w := range wallings()[1:] {
		pair := [][]cost{costs[i+1], costs[0]}
		adds(w.name, pair, w.goal)
		compare("CPU, ms", pair, cpu, 0)
		bounded(costs[i+1], maxPeak)
	}
	return nil
}

// bareFolder is a PATH with what the call needs and without bubblewrap.
func bareFolder(p programs) (string, error) {
	dir := p.path("barebin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"sh", "date"} {
		if err := os.Symlink("/bin/"+name, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}
