// Package dev runs a Postgres and a Temporal in a folder, for a try of a fleet and for its tests.
package dev

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"rouse/fleet/store"
	"rouse/internal/proc"
	"rouse/internal/text"
)

//go:embed postgres.sh
var script string

// ErrMissing says what to install.
var ErrMissing = errors.New("there is no Postgres on this machine; install 15 or later, on Debian and Ubuntu by: apt-get install postgresql")

// missing is the exit code of the script that says so.
const missing = 69

var errMissing = errors.New("it is not installed")

// maxSocket is how long the path of a socket's folder may be, in bytes.
const maxSocket = 90

// Server is a Postgres that runs.
type Server struct {
	DSN string
	*Process
}

// Start starts the Postgres of a folder with options of postgres. It ends with this program.
func Start(ctx context.Context, dir string, options ...string) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil || len(dir) > maxSocket {
		return nil, fmt.Errorf("the path %s is too long for a socket: name a shorter folder", dir)
	}
	s := &Server{DSN: "postgres://rouse@/postgres?host=" + dir}
	ready := func(ctx context.Context) error {
		in, err := store.Open(ctx, s.DSN)
		if err == nil {
			in.Close()
		}
		return err
	}
	if ready(ctx) == nil {
		return nil, fmt.Errorf("a Postgres runs in %s already; its DSN is %s", dir, s.DSN)
	}
	s.Process, err = begin(ctx, append([]string{"sh", "-c", script, "sh", dir}, options...), ready)
	if errors.Is(err, errMissing) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, fmt.Errorf("no Postgres in %s: %w", dir, err)
	}
	s.stop, s.kill = syscall.SIGINT, syscall.SIGQUIT
	return s, nil
}

// Process is a server that runs.
type Process struct {
	is         *proc.Process
	stop, kill syscall.Signal
}

// Stop ends the server and those who are connected.
func (p *Process) Stop() { p.end(p.stop) }

// Kill ends the server as a crash does: started again, it recovers.
func (p *Process) Kill() { p.end(p.kill) }

func (p *Process) end(by syscall.Signal) {
	p.is.Signal(by)
	p.is.Wait()
}

// Serve starts a program that serves at an address, and waits until it does. It ends with this program.
func Serve(ctx context.Context, address string, argv ...string) (*Process, error) {
	return begin(ctx, argv, func(context.Context) error { return answers(address) })
}

// answers says whether something serves at an address.
func answers(address string) error {
	c, err := net.Dial("tcp", address)
	if err == nil {
		err = c.Close()
	}
	return err
}

// begin starts a program that serves, and waits until it does.
func begin(ctx context.Context, argv []string, ready func(context.Context) error) (*Process, error) {
	said := new(bytes.Buffer)
	out := text.Capped(said, 64<<10)
	run := &proc.Runner{Env: proc.Environ(os.Environ())}
	p, err := run.Start(context.WithoutCancel(ctx), proc.Command{Argv: argv, Stdout: out, Stderr: out, Grace: time.Minute})
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, p, ready); err != nil {
		p.Signal(syscall.SIGINT)
		if p.Wait().Code == missing {
			return nil, errMissing
		}
		return nil, fmt.Errorf("%w: %s", err, text.Line(said.String(), 500))
	}
	return &Process{is: p, stop: syscall.SIGTERM, kill: syscall.SIGKILL}, nil
}

// wait waits until a server answers.
func wait(ctx context.Context, p *proc.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := ready(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return err
		case !p.Identity().Alive():
			return errors.New("it ended")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
