package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rouse/agent/config"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/setup"
)

// tonight says what would fail while nobody looks: what it sees itself, and then
// what a process sees that cron would start.
func (a *app) tonight(h home.Home) []check {
	j, err := a.job(h)
	if err != nil {
		return []check{{Check: "home", Found: err.Error()}}
	}
	if a.dotenv.Err != nil {
		return a.checkVariables(h)
	}
	s, err := setup.Open(h, a.process())
	if err != nil {
		return []check{{Check: "configuration", Found: err.Error(), Hint: "mend rouse.yaml"}}
	}
	prefix, checks := a.checkWoken(j, s)
	checks = append(checks, a.checkKey(h))
	inside := j.tryInside(prefix)
	return append(append(checks, a.checkZone(s.Config, inside)...), inside...)
}

// checkKey says whether the model is known without this terminal.
func (a *app) checkKey(h home.Home) check {
	if err := a.checkAlone(h); err != nil {
		return check{Check: "key", Found: err.Error()}
	}
	return check{Check: "key", OK: true, Found: "what the model needs is known without this terminal"}
}

// insideTime is how long the checks inside may take: servers have to start.
const insideTime = 3 * time.Minute

// tryInside has all checks done by a process that is started as cron starts one.
func (j job) tryInside(prefix string) []check {
	failed := func(found string) []check {
		return []check{{Check: "unattended", Found: text.Line(j.app.redacted(found), 500), Hint: "this is what cron would start: " + prefix + due + quoted(j.home.Dir)}}
	}
	var out, errs bytes.Buffer
	bare := []string{"HOME=" + j.app.getenv("HOME"), "LOGNAME=" + j.app.getenv("LOGNAME"), "SHELL=/bin/sh", "PATH=/usr/bin:/bin"}
	exit, err := (&proc.Runner{Env: bare}).Run(context.Background(), proc.Command{
		Argv: []string{"/bin/sh", "-c", prefix + " doctor --inside --json --home " + quoted(j.home.Dir)},
		Dir:  "/", Stdout: &out, Stderr: &errs, Timeout: insideTime, MaxOutput: 1 << 20,
	})
	if err != nil {
		return failed(err.Error())
	}
	var checks []check
	if json.Unmarshal(out.Bytes(), &checks) != nil {
		return failed(fmt.Sprintf("%s: %s", exit, strings.TrimSpace(errs.String())))
	}
	return checks
}

// zoneForm is how a zone is told from another.
const zoneForm = "-0700 MST"

// checkZone compares the time zone of this terminal with that of the night.
func (a *app) checkZone(conf config.Config, inside []check) []check {
	here := a.now().Format(zoneForm)
	for i, c := range inside {
		if c.Check != "zone" || c.Found == here {
			continue
		}
		for _, e := range conf.Schedule {
			if e.Timezone == "" {
				return []check{{Check: "zone", Found: fmt.Sprintf("slots go by %s, your terminal by %s", inside[i].Found, here),
					Hint: "name timezone: in the schedule, or install again, which keeps TZ"}}
			}
		}
	}
	return nil
}

// inside are the checks in the environment of an unattended cycle.
func (a *app) inside(h home.Home) []check {
	checks := []check{{Check: "zone", OK: true, Found: a.now().Format(zoneForm)}}
	s, err := setup.Open(h, a.process())
	if err == nil {
		checks = append(checks, a.checkSchedule(s.Config), a.checkGate(s), checkLimitsSet(s.Config))
		checks = append(checks, a.checkPrograms(h, s.Config)...)
		checks = append(checks, a.checkStart(s))
	}
	if info, err := os.Stat(h.Config()); err == nil && info.ModTime().After(a.now().Add(time.Minute)) {
		checks = append(checks, check{Check: "clock", Found: "rouse.yaml was written in the future", Hint: "check the clock"})
	}
	return append(checks, slices.DeleteFunc(a.examine(h), func(c check) bool { return strings.HasSuffix(c.Check, "enforced") })...)
}

func (a *app) checkSchedule(conf config.Config) check {
	var slots []string
	for t := conf.Schedule.Next(a.now()); !t.IsZero() && len(slots) < 5; t = conf.Schedule.Next(t) {
		slots = append(slots, t.Format("2006-01-02 15:04:05 -0700"))
	}
	if slots == nil {
		return check{Check: "schedule", Found: "there is no next slot", Hint: "say when, as in: rouse install '*/15 * * * *'"}
	}
	return check{Check: "schedule", OK: true, Found: "next " + strings.Join(slots, ", ")}
}

// checkGate says what would keep the next slot from being a cycle.
func (a *app) checkGate(s *setup.Setup) check {
	conf := s.Config
	next := schedule.Slot{Time: conf.Schedule.Next(a.now())}
	for _, e := range conf.Schedule {
		if e.Next(a.now()).Equal(next.Time) {
			next.Task = e.Task
		}
	}
	reason, sentence := s.Gate(next)
	switch reason {
	case "":
		return check{Check: "slots", OK: true, Found: "nothing holds them back"}
	case "paused":
		return check{Check: "slots", Found: "the home is paused: " + sentence, Hint: "rouse resume"}
	}
	return check{Check: "slots", Found: "they are skipped now, " + strings.TrimSuffix(reason+": "+sentence, ": ")}
}

// checkStart wires an agent as a cycle does.
func (a *app) checkStart(s *setup.Setup) check {
	if _, err := s.Agent(); err != nil {
		return check{Check: "start", Found: err.Error(), Hint: "no cycle can begin until that is mended"}
	}
	return check{Check: "start", OK: true, Found: "a cycle can begin"}
}

// checkLimitsSet says whether a loop would cost money without end; that fails nothing.
func checkLimitsSet(conf config.Config) check {
	l := conf.Limits
	if conf.Model.Provider == "offline" {
		return check{Check: "limits", OK: true, Found: "the offline model costs nothing"}
	}
	if l.Day.Money+l.Month.Money > 0 || l.Day.Tokens+l.Month.Tokens > 0 {
		return check{Check: "limits", OK: true, Found: "what a day or a month may cost is limited"}
	}
	return check{Check: "limits", OK: true, Found: "no limit on what a day or a month may cost",
		Hint: "write one into rouse.yaml, such as limits: {day: {money: 1}}; see docs/limits.md"}
}

// checkPrograms looks for the programs and files that the configuration names.
func (a *app) checkPrograms(h home.Home, conf config.Config) (checks []check) {
	look := func(what, program, dir, hint string) {
		if err := a.lookUp(program, dir); err != nil {
			checks = append(checks, check{Check: "programs", Found: what + ": " + err.Error(), Hint: hint})
		}
	}
	write := func(what, file string) {
		if err := canWrite(h.Folder(file)); err != nil {
			checks = append(checks, check{Check: "files", Found: what + ": " + err.Error(), Hint: "name a file in a folder that is there; a URL begins with https://"})
		}
	}
	const hint = "write its absolute path, or install again with a PATH that has it"
	for _, c := range conf.Tools.Commands {
		look("tools.commands "+c.Name, c.Argv[0], h.Folder(conf.Workspace), hint)
	}
	for _, s := range conf.Notify {
		if len(s.Command) > 0 {
			look("notify", s.Command[0], h.Dir, hint)
		} else {
			write("notify", s.File)
		}
	}
	if conf.Heartbeat != "" && !strings.Contains(conf.Heartbeat, "://") {
		write("heartbeat", conf.Heartbeat)
	}
	if python := conf.Notebook.Python; python != "" && conf.Notebook.Backend == "local" {
		look("notebook.python", python, h.Dir, hint)
	} else if conf.Notebook.Backend == "local" && a.lookUp("python3", h.Dir) != nil {
		checks = append(checks, check{Check: "programs", OK: true, Found: "no python3, so no notebooks", Hint: hint})
	}
	if len(checks) == 0 {
		checks = append(checks, check{Check: "programs", OK: true, Found: "all that rouse.yaml names are there"})
	}
	return checks
}

// canWrite says why a file could not be written, or made. It makes none.
func canWrite(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path = filepath.Dir(path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return fmt.Errorf("write to %s: %w", path, err)
	}
	return nil
}

// lookUp finds a program as the system does that starts it.
func (a *app) lookUp(program, dir string) error {
	paths := []string{program}
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			paths[0] = filepath.Join(dir, program)
		}
	} else {
		paths = nil
		for _, d := range filepath.SplitList(a.getenv("PATH")) {
			paths = append(paths, filepath.Join(d, program))
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return nil
		}
	}
	if strings.Contains(program, "/") {
		return fmt.Errorf("%s is no program", paths[0])
	}
	return fmt.Errorf("%s is not in the PATH of the night, %s", program, a.getenv("PATH"))
}
