// Package install has the machine wake a home every minute: by cron, by systemd or
// by launchd. It writes entries that are the home's own, finds them again, and
// leaves all else as it was.
package install

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/setup"
)

// Job is what is to be run every minute.
type Job struct {
	Program string // rouse
	process setup.Process
	home    home.Home
	path    string // the PATH it gets
	zone    string // the TZ it gets, mostly none
}

// New is the job of a home, with the PATH and the TZ of the process as it was
// started.
func New(h home.Home, p setup.Process) (Job, error) {
	program, err := os.Executable()
	if err != nil {
		return Job{}, err
	}
	j := Job{process: p.Alone(), home: h, Program: program, zone: p.Alone().Getenv("TZ")}
	var dirs []string
	for _, dir := range filepath.SplitList(j.process.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	j.path = cmp.Or(strings.Join(dirs, ":"), "/usr/local/bin:/usr/bin:/bin")
	for _, part := range j.parts() {
		if strings.ContainsAny(part, "\n\r") {
			return Job{}, fmt.Errorf("%s has a line break, and cannot be installed: name it differently", text.Line(part, 300))
		}
	}
	return j, nil
}

// At is the job of the home in a folder, which may be gone.
func At(dir string, p setup.Process) (Job, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Job{}, err
	}
	return New(home.Home{Dir: abs}, p)
}

// parts are what comes from outside into what is installed.
func (j Job) parts() []string { return []string{j.home.Dir, j.Program, j.path, j.zone} }

// Check refuses what a crontab or a unit could hold, but nobody could read there,
// or not as it is meant.
func (j Job) Check(via string) error {
	for _, part := range j.parts() {
		if text.Obeyed(part) || via != "cron" && !utf8.ValidString(part) {
			return fmt.Errorf("%s has a character that cannot be shown, and cannot be installed: name it differently", text.Line(part, 300))
		}
	}
	return nil
}

// name tells the home from others in the names of units.
func (j Job) name() string {
	return fmt.Sprintf("rouse-%.4x", sha256.Sum256([]byte(j.home.Dir)))
}

// Text shows what Put would write.
func (j Job) Text(via string) (string, error) {
	if via == "cron" {
		return "--- crontab\n" + j.cronBlock(), nil
	}
	var b strings.Builder
	files, err := j.files(via)
	for _, f := range files {
		fmt.Fprintf(&b, "--- %s\n%s", f.path, f.text)
	}
	return b.String(), err
}

// Put installs the job; it says what else a person may want to do.
func (j Job) Put(via string) (hint string, err error) {
	unlock, err := j.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if via == "cron" {
		return "", j.putCron()
	}
	return j.putFiles(via)
}

// Remove undoes Put, by whatever was installed and also where the home is gone, and
// says what that was. What goes wrong with one of them keeps no other.
func (j Job) Remove() (removed []string, err error) {
	unlock, err := j.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, via := range []string{"cron", "systemd", "launchd"} {
		remove := func() (bool, error) { return j.removeFiles(via) }
		if via == "cron" {
			remove = j.removeCron
		}
		ok, failed := remove()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("uninstall from %s: %w", via, failed))
		}
		if ok {
			removed = append(removed, via)
		}
	}
	return removed, err
}

// is says whether a path means the home, perhaps by a link.
func (j Job) is(dir string) bool {
	return dir == j.home.Dir || home.Resolved(dir) == home.Resolved(j.home.Dir)
}

// Quoted is a path as a shell wants it.
func Quoted(path string) string { return text.Quoted(path) }

// tool runs a program of the system, with this terminal's environment.
func (j Job) tool(stdin []byte, argv ...string) (stdout string, err error) {
	c := proc.Command{Argv: argv}
	if stdin != nil {
		c.Stdin = bytes.NewReader(stdin)
	}
	stdout, _, err = j.call(c)
	return stdout, err
}

func (j Job) call(c proc.Command) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr, c.MaxOutput = &out, &errs, 4<<20
	exit, err := (&proc.Runner{Env: j.process.Environ}).Run(context.Background(), c)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	if !exit.OK() {
		return "", "", fmt.Errorf("%s: %s: %s", strings.Join(c.Argv, " "), exit, strings.TrimSpace(errs.String()))
	}
	return out.String(), errs.String(), nil
}
