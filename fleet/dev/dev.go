// Package dev runs a Postgres in a folder, for a try of a fleet and for its tests. It
// listens at a socket in that folder alone, and ends with the program that started it.
package dev

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"rouse/fleet/store"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/text"
)

// ErrMissing says what to install.
var ErrMissing = errors.New("there is no Postgres 15 or later on this machine; install it, on Debian and Ubuntu by: apt-get install postgresql")

// Server is a Postgres that runs.
type Server struct {
	DSN     string
	process *proc.Process
	said    *bytes.Buffer
}

// maxSocket is how long the path of a socket's folder may be, in bytes.
const maxSocket = 90

// login is the superuser of the server.
const login = "rouse"

// Start starts the Postgres of a folder, and makes it there first where there is none. As
// root it runs as an ordinary user, whose the folder becomes: Postgres refuses root.
func Start(ctx context.Context, dir string, options ...string) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err == nil && len(dir) > maxSocket {
		err = fmt.Errorf("the path %s is too long for a socket: name a shorter folder", dir)
	}
	if err = cmp.Or(err, os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	as, err := ordinary(dir)
	if err != nil {
		return nil, err
	}
	run := &proc.Runner{Env: proc.Environ(os.Environ())}
	data := filepath.Join(dir, "data")
	if !disk.Exists(data) {
		made := data + ".new"
		said := new(bytes.Buffer)
		_ = os.RemoveAll(made) // of one that was killed
		exit, err := run.Run(ctx, proc.Command{Argv: append(as, filepath.Join(bin, "initdb"), "-D", made, "-U", login, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"), Dir: "/", Stderr: said})
		if err == nil && !exit.OK() {
			err = fmt.Errorf("initdb in %s: %s", dir, text.Line(said.String(), 500))
		}
		if err = cmp.Or(err, os.Rename(made, data)); err != nil {
			return nil, err
		}
	}
	s := &Server{DSN: "postgres://" + login + "@/postgres?host=" + dir, said: new(bytes.Buffer)}
	if in, err := store.Open(ctx, s.DSN); err == nil {
		in.Close()
		return nil, fmt.Errorf("a Postgres runs in %s already: use it, or end the process %s first", dir, pid(data))
	}
	out := text.Capped(s.said, 64<<10)
	argv := append(as, filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=")
	s.process, err = run.Start(context.WithoutCancel(ctx), proc.Command{Argv: append(argv, options...), Dir: "/", Stdout: out, Stderr: out, Grace: time.Minute})
	if err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("postgres in %s: %w: %s", dir, err, text.Line(s.said.String(), 500))
	}
	return s, nil
}

// pid is the process of the server that has a folder.
func pid(data string) string {
	text, _ := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	id, _, _ := strings.Cut(string(text), "\n")
	return id
}

// Stop ends the server and those who are connected.
func (s *Server) Stop() {
	s.process.Signal(syscall.SIGINT)
	s.process.Wait()
}

// wait waits until the server answers.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		in, err := store.Open(ctx, s.DSN)
		if err == nil {
			in.Close()
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return err
		case !s.process.Identity().Alive():
			return errors.New("it ended")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// find finds the folder of the newest Postgres.
func find() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian's, which are in no PATH
	major := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	if len(dirs) > 0 {
		newest := slices.MaxFunc(dirs, func(a, b string) int { return major(a) - major(b) })
		if major(newest) >= 15 {
			return filepath.Dir(newest), nil
		}
	}
	path, err := proc.LookPath("initdb", os.Getenv("PATH"))
	if err != nil {
		return "", ErrMissing
	}
	return filepath.Dir(path), nil
}

// ordinary gives what runs a program as an ordinary user, whose the folder becomes, where
// this one is root's.
func ordinary(dir string) ([]string, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	as := []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups", "--"}
	return slices.Clip(as), os.Chown(dir, uid, gid)
}
