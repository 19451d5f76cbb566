// Package dev runs a Postgres in a folder, for a try of a fleet and for its tests.
package dev

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
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

// maxSocket is how long the path of a socket's folder may be, in bytes.
const maxSocket = 90

// Server is a Postgres that runs.
type Server struct {
	DSN     string
	process *proc.Process
}

// Start starts the Postgres of a folder with options of postgres. It ends with this program.
func Start(ctx context.Context, dir string, options ...string) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil || len(dir) > maxSocket {
		return nil, fmt.Errorf("the path %s is too long for a socket: name a shorter folder", dir)
	}
	s := &Server{DSN: "postgres://rouse@/postgres?host=" + dir}
	if in, err := store.Open(ctx, s.DSN); err == nil {
		in.Close()
		return nil, fmt.Errorf("a Postgres runs in %s already; its DSN is %s", dir, s.DSN)
	}
	said := new(bytes.Buffer)
	out := text.Capped(said, 64<<10)
	run := &proc.Runner{Env: proc.Environ(os.Environ())}
	s.process, err = run.Start(context.WithoutCancel(ctx), proc.Command{Argv: append([]string{"sh", "-c", script, "sh", dir}, options...), Stdout: out, Stderr: out, Grace: time.Minute})
	if err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		if s.Stop().Code == missing {
			return nil, ErrMissing
		}
		return nil, fmt.Errorf("no Postgres in %s: %w: %s", dir, err, text.Line(said.String(), 500))
	}
	return s, nil
}

// wait waits until the server answers.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		in, err := store.Open(ctx, s.DSN)
		switch {
		case err == nil:
			in.Close()
			return nil
		case ctx.Err() != nil:
			return err
		case !s.process.Identity().Alive():
			return errors.New("it ended")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Stop ends the server and those who are connected.
func (s *Server) Stop() proc.Exit {
	s.process.Signal(syscall.SIGINT)
	return s.process.Wait()
}
