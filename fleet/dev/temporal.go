package dev

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"rouse/internal/proc"
	"rouse/internal/text"
)

//go:embed temporal
var sources embed.FS

// ErrNoTemporal says what to install, or to run.
var ErrNoTemporal = errors.New("there is no Temporal on this machine: put its command, temporal, into PATH, name it in $ROUSE_FLEET_TEMPORAL, or run rouse-fleet dev once where there is a go command, which builds the server in about five minutes")

// Temporal is a development server of Temporal that runs: one process, whose database is a file.
type Temporal struct {
	Address string
	*Process
}

// StartTemporal starts the Temporal of a folder, at the port that it had the last time. What it
// took is there again after it was killed. It ends with this program.
func StartTemporal(ctx context.Context, dir string) (*Temporal, error) {
	program, err := FindTemporal()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	said := filepath.Join(dir, "port")
	port, err := os.ReadFile(said)
	if err != nil {
		port = []byte(FreePort())
		if err := os.WriteFile(said, port, 0o600); err != nil {
			return nil, err
		}
	}
	t := &Temporal{Address: "127.0.0.1:" + string(port)}
	if answers(t.Address) == nil {
		return nil, fmt.Errorf("something serves at %s already: end it, or remove %s to take another port", t.Address, said)
	}
	t.Process, err = Serve(ctx, t.Address, program, "server", "start-dev", "--headless", "--port", string(port), "--db-filename", filepath.Join(dir, "temporal.db"),
		"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1", "--log-level", "error")
	if err != nil {
		return nil, fmt.Errorf("no Temporal by %s in %s: %w", program, dir, err)
	}
	return t, nil
}

// FreePort is one of loopback that nobody has, and that the kernel gives to no connection.
func FreePort() string {
	for {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
}

// FindTemporal finds the program: the one that $ROUSE_FLEET_TEMPORAL names, the one in PATH, or the
// one that was built.
func FindTemporal() (string, error) {
	if named := os.Getenv("ROUSE_FLEET_TEMPORAL"); named != "" {
		return named, nil
	}
	if path, err := proc.LookPath("temporal", os.Getenv("PATH")); err == nil {
		return path, nil
	}
	path, _, err := built()
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", ErrNoTemporal
	}
	return path, nil
}

// built is where the server is kept once it was built, and its version.
func built() (path, version string, err error) {
	mod, err := sources.ReadFile("temporal/go.mod.txt")
	if err != nil {
		return "", "", err
	}
	version = string(regexp.MustCompile(`go\.temporal\.io/server (\S+)`).FindSubmatch(mod)[1])
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "rouse-fleet", "temporal-"+version), version, err
}

// BuildTemporal builds the server where none is found, and says so before it does.
func BuildTemporal(ctx context.Context, say func(string)) error {
	if _, err := FindTemporal(); err == nil {
		return nil
	}
	target, version, err := built()
	if _, without := proc.LookPath("go", os.Getenv("PATH")); err != nil || without != nil {
		return ErrNoTemporal
	}
	dir, err := os.MkdirTemp("", "rouse-temporal")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, sources); err != nil {
		return err
	}
	say(fmt.Sprintf("building Temporal's development server %s, once: about five minutes. It is kept as %s", version, target))
	out := &text.Ends{Tail: 1000}
	run := &proc.Runner{Env: os.Environ()}
	source := filepath.Join(dir, "temporal")
	exit, err := run.Run(ctx, proc.Command{Argv: []string{"sh", filepath.Join(source, "build.sh"), source, target}, Stdout: out, Stderr: out, Grace: 10 * time.Second})
	if _, said, _ := out.Kept(); err == nil && !exit.OK() {
		err = cmp.Or(context.Cause(ctx), fmt.Errorf("%s: %s", exit, text.Line(string(said), 1000)))
	}
	if err != nil {
		return fmt.Errorf("cannot build Temporal's server: %w; instead put its command, temporal, into PATH", err)
	}
	return nil
}
