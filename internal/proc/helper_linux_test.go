package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"rouse/internal/sandbox"
)

// TestMain lets the test binary stand in for a Rouse that is killed: with
// HELPER set it does that part instead of the tests.
func TestMain(m *testing.M) {
	switch os.Getenv("HELPER") {
	case "":
		os.Exit(m.Run())
	case "crash":
		crash()
	case "room":
		tryRoom(os.Getenv("HELPER_ROOM"))
	case "boxes":
		boxes()
	case "fetch":
		fetch(os.Getenv("HELPER_URL"))
	case "settle":
		ended, err := EndLeftovers(os.Getenv("HELPER_MARK"), nil, Identity{})
		fmt.Println(ended, err)
	case "attempt":
		attempt(os.Args[1:])
	}
}

// boxes starts one process after the other in boxes, some at a time, until it is killed.
func boxes() {
	s := sandbox.Look()
	s.Bubblewrap = bubblewrap()
	dir := os.Getenv("HELPER_ROOM")
	box := sandbox.New(sandbox.Policy{Read: []string{"/"}, Write: []string{dir}, Network: sandbox.None}, s)
	r := &Runner{Mark: os.Getenv("HELPER_MARK"), Env: Environ(os.Environ())}
	HideMemory()
	for range 3 {
		go func() {
			for {
				_, err := r.Run(context.Background(), Command{Argv: []string{"sh", "-c", "(setsid sleep 1000 &); sleep 0.02"}, Dir: "/", Box: box})
				if err != nil {
					fmt.Println(err)
				}
			}
		}()
	}
	fmt.Println("begun")
	select {}
}

// tryRoom tries a box that hides what is mounted in two places.
func tryRoom(dir string) {
	HideMemory()
	r := newRunner()
	run := func(b *sandbox.Box, script string) error {
		e, err := r.Run(context.Background(), Command{Argv: []string{"sh", "-c", script}, Dir: dir, Stdout: os.Stdout, Stderr: os.Stderr, Box: b})
		if err == nil && !e.OK() {
			err = errors.New(e.String())
		}
		return err
	}
	s := sandbox.Look()
	if lacks := sandbox.Probe(bubblewrap(), s, func(b *sandbox.Box) error { return run(b, "true") }); lacks != "" {
		fmt.Println(lacks)
		return
	}
	s.Bubblewrap = bubblewrap()
	p := sandbox.Policy{Read: []string{"/"}, Write: []string{dir + "/home/workspace"}, Hidden: []string{dir + "/real/f"}}
	err := run(sandbox.New(p, s), "exec 2>/dev/null; cat real/f || cat elsewhere/f || echo denied; ls elsewhere; echo x >> home/workspace/f && echo writes")
	if err != nil {
		fmt.Println(err)
	}
}

// fetch prints what a URL answers.
func fetch(url string) {
	answer, err := http.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, string(body), err)
}

// crash starts the commands it is given, says who they are, and waits to be killed.
func crash() {
	r := &Runner{Mark: os.Getenv("HELPER_MARK"), Env: Environ(os.Environ())}
	var ids []Identity
	for _, script := range os.Args[1:] {
		p, err := r.Start(context.Background(), Command{Argv: []string{"sh", "-c", script}})
		if err != nil {
			panic(err)
		}
		ids = append(ids, p.Identity())
	}
	json.NewEncoder(os.Stdout).Encode(ids)
	select {}
}

func newRunner() *Runner { return &Runner{Env: Environ(os.Environ())} }

// result is how a script ended, what it wrote, and how long Run took.
type result struct {
	Exit
	out  string
	took time.Duration
}

// sh runs a script in a folder of its own and counts what survives it there.
func sh(t *testing.T, r *Runner, script string, c Command) result {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	var out bytes.Buffer
	c.Argv = []string{"sh", "-c", script}
	if c.Stdout == nil {
		c.Stdout, c.Stderr = &out, &out
	}
	begun := time.Now()
	e, err := r.Run(t.Context(), c)
	took := time.Since(begun)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	if left := inFolder(c.Dir); len(left) > 0 || len(e.Left) > 0 {
		t.Errorf("%s: survivors %v, reported %v", script, left, e.Left)
	}
	return result{e, out.String(), took}
}

// lag is how long this machine takes to start a shell, some milliseconds unless it
// is busy: then a process that was killed is not gone at once.
func lag(t *testing.T) time.Duration {
	t.Helper()
	begun := time.Now()
	if err := exec.Command("sh", "-c", ":").Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

// inFolder lists the living processes whose current folder is dir or below it,
// whatever they did to their environment. dir may have been removed.
func inFolder(dir string) (left []string) {
	for _, pid := range numbers("/proc") {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		s, ok := readStat(pid)
		if err == nil && ok && !s.dead() && strings.HasPrefix(cwd, dir) {
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			left = append(left, fmt.Sprintf("%d %q", pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	return left
}

// eventually polls until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// exists waits for a file that a script makes to say that it got so far.
func exists(t *testing.T, elem ...string) {
	t.Helper()
	name := filepath.Join(elem...)
	eventually(t, name, func() bool { _, err := os.Stat(name); return err == nil })
}

// noGoroutineLeft fails if there come to be more goroutines during the test.
func noGoroutineLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
	})
}
