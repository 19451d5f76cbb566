package doctor

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
	"rouse/setup/install"
)

// Tonight says what would fail while nobody looks: what it sees itself, and then
// what a process sees that cron would start.
func (d Doctor) Tonight(h home.Home) []setup.Check {
	j, err := install.New(h, d.Process)
	if err != nil {
		return []setup.Check{{Check: "home", Found: err.Error()}}
	}
	if d.Dotenv.Err != nil {
		return d.checkVariables(h)
	}
	s, err := setup.Open(h, d.Process)
	if err != nil {
		return []setup.Check{{Check: "configuration", Found: err.Error(), Hint: "mend rouse.yaml"}}
	}
	prefix, checks := j.Woken(s)
	checks = append(checks, d.checkKey(h))
	inside := d.tryInside(s, j, prefix)
	return append(append(checks, d.checkZone(s.Config, inside)...), inside...)
}

// checkKey says whether the model is known without this terminal.
func (d Doctor) checkKey(h home.Home) setup.Check {
	if err := install.CheckAlone(h, d.Dotenv); err != nil {
		return setup.Check{Check: "key", Found: err.Error()}
	}
	return setup.Check{Check: "key", OK: true, Found: "what the model needs is known without this terminal"}
}

// insideTime is how long the checks inside may take: servers have to start.
const insideTime = 3 * time.Minute

// tryInside has all checks done by a process that is started as cron starts one.
func (d Doctor) tryInside(s *setup.Setup, j install.Job, prefix string) []setup.Check {
	shell := j.Shell()
	failed := func(found string) []setup.Check {
		hint := "this is what cron would start: " + j.Command(prefix)
		if shell != "/bin/sh" {
			hint = "the crontab says SHELL=" + shell + "; write SHELL=/bin/sh above the entry of rouse; " + hint
		}
		return []setup.Check{{Check: "unattended", Found: text.Line(s.Redactor().String(found), 500), Hint: hint}}
	}
	var out, errs bytes.Buffer
	bare := []string{"HOME=" + d.Getenv("HOME"), "LOGNAME=" + d.Getenv("LOGNAME"), "SHELL=" + shell, "PATH=/usr/bin:/bin"}
	exit, err := (&proc.Runner{Env: bare}).Run(context.Background(), proc.Command{
		Argv: []string{shell, "-c", prefix + " doctor --inside --json --home " + install.Quoted(s.Home.Dir)},
		Dir:  "/", Stdout: &out, Stderr: &errs, Timeout: insideTime, MaxOutput: 1 << 20,
	})
	if err != nil {
		return failed(err.Error())
	}
	var checks []setup.Check
	if json.Unmarshal(out.Bytes(), &checks) != nil {
		return failed(fmt.Sprintf("%s: %s", exit, strings.TrimSpace(errs.String())))
	}
	return checks
}

// zoneForm is how a zone is told from another.
const zoneForm = "-0700 MST"

// checkZone compares the time zone of this terminal with that of the night.
func (d Doctor) checkZone(conf config.Config, inside []setup.Check) []setup.Check {
	here := d.Now().Format(zoneForm)
	for i, c := range inside {
		if c.Check != "zone" || c.Found == here {
			continue
		}
		for _, e := range conf.Schedule {
			if e.Timezone == "" {
				return []setup.Check{{Check: "zone", Found: fmt.Sprintf("slots go by %s, your terminal by %s", inside[i].Found, here),
					Hint: "name timezone: in the schedule, or install again, which keeps TZ"}}
			}
		}
	}
	return nil
}

// Inside are the checks in the environment of an unattended cycle.
func (d Doctor) Inside(h home.Home) []setup.Check {
	checks := []setup.Check{{Check: "zone", OK: true, Found: d.Now().Format(zoneForm)}}
	s, err := setup.Open(h, d.Process)
	if err == nil {
		checks = append(checks, d.checkSchedule(s.Config), d.checkGate(s), checkLimitsSet(s.Config))
		checks = append(checks, d.checkPrograms(h, s.Config)...)
		checks = append(checks, d.checkStart(s))
	}
	if info, err := os.Stat(h.Config()); err == nil && info.ModTime().After(d.Now().Add(time.Minute)) {
		checks = append(checks, setup.Check{Check: "clock", Found: "rouse.yaml was written in the future", Hint: "check the clock"})
	}
	return append(checks, slices.DeleteFunc(d.Examine(h), func(c setup.Check) bool { return strings.HasSuffix(c.Check, "enforced") })...)
}

func (d Doctor) checkSchedule(conf config.Config) setup.Check {
	var slots []string
	for t := conf.Schedule.Next(d.Now()); !t.IsZero() && len(slots) < 5; t = conf.Schedule.Next(t) {
		slots = append(slots, t.Format("2006-01-02 15:04:05 -0700"))
	}
	if slots == nil {
		return setup.Check{Check: "schedule", Found: "there is no next slot", Hint: "say when, as in: rouse install '*/15 * * * *'"}
	}
	return setup.Check{Check: "schedule", OK: true, Found: "next " + strings.Join(slots, ", ")}
}

// checkGate says what would keep the next slot from being a cycle.
func (d Doctor) checkGate(s *setup.Setup) setup.Check {
	conf := s.Config
	next := schedule.Slot{Time: conf.Schedule.Next(d.Now())}
	for _, e := range conf.Schedule {
		if e.Next(d.Now()).Equal(next.Time) {
			next.Task = e.Task
		}
	}
	reason, sentence := s.Gate(next)
	switch reason {
	case "":
		return setup.Check{Check: "slots", OK: true, Found: "nothing holds them back"}
	case "paused":
		return setup.Check{Check: "slots", Found: "the home is paused: " + sentence, Hint: "rouse resume"}
	}
	return setup.Check{Check: "slots", Found: "they are skipped now, " + strings.TrimSuffix(reason+": "+sentence, ": ")}
}

// checkStart wires an agent as a cycle does.
func (d Doctor) checkStart(s *setup.Setup) setup.Check {
	if _, err := s.Agent(); err != nil {
		return setup.Check{Check: "start", Found: err.Error(), Hint: "no cycle can begin until that is mended"}
	}
	return setup.Check{Check: "start", OK: true, Found: "a cycle can begin"}
}

// checkLimitsSet says whether a loop would cost money without end; that fails nothing.
func checkLimitsSet(conf config.Config) setup.Check {
	l := conf.Limits
	if conf.Model.Provider == "offline" {
		return setup.Check{Check: "limits", OK: true, Found: "the offline model costs nothing"}
	}
	if l.Day.Money+l.Month.Money > 0 || l.Day.Tokens+l.Month.Tokens > 0 {
		return setup.Check{Check: "limits", OK: true, Found: "what a day or a month may cost is limited"}
	}
	return setup.Check{Check: "limits", OK: true, Found: "no limit on what a day or a month may cost",
		Hint: "write one into rouse.yaml, such as limits: {day: {money: 1}}; see docs/limits.md"}
}

// checkPrograms looks for the programs and files that the configuration names.
func (d Doctor) checkPrograms(h home.Home, conf config.Config) (checks []setup.Check) {
	look := func(what, program, dir, hint string) {
		if err := d.lookUp(program, dir); err != nil {
			checks = append(checks, setup.Check{Check: "programs", Found: what + ": " + err.Error(), Hint: hint})
		}
	}
	write := func(what, file string) {
		if err := canWrite(h.Folder(file)); err != nil {
			checks = append(checks, setup.Check{Check: "files", Found: what + ": " + err.Error(), Hint: "name a file in a folder that is there; a URL begins with https://"})
		}
	}
	const hint = "write its absolute path, or install again with a PATH that has it"
	for _, c := range conf.Tools.Commands {
		look("tools.commands "+c.Name, c.Argv[0], h.Folder(conf.Workspace), hint)
	}
	for _, s := range conf.Notify {
		if len(s.Command) > 0 {
			look("notify", s.Command[0], h.Dir, hint)
		} else if s.File != "" {
			write("notify", s.File)
		}
	}
	if conf.Heartbeat != "" && !strings.Contains(conf.Heartbeat, "://") {
		write("heartbeat", conf.Heartbeat)
	}
	for i, argv := range [][]string{conf.Notebook.Before, conf.Notebook.After} {
		if len(argv) > 0 {
			look([]string{"notebook.before", "notebook.after"}[i], argv[0], h.Dir, hint)
		}
	}
	if python := conf.Notebook.Python; python != "" && conf.Notebook.Backend == "local" {
		look("notebook.python", python, h.Dir, hint)
	} else if conf.Notebook.Backend == "local" && d.lookUp("python3", h.Dir) != nil {
		checks = append(checks, setup.Check{Check: "programs", OK: true, Found: "no python3, so no notebooks", Hint: hint})
	}
	if len(checks) == 0 {
		checks = append(checks, setup.Check{Check: "programs", OK: true, Found: "all that rouse.yaml names are there"})
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
func (d Doctor) lookUp(program, dir string) error {
	path, err := proc.LookPath(program, d.Getenv("PATH"))
	if err != nil {
		return fmt.Errorf("%s is not in the PATH of the night, %s", program, d.Getenv("PATH"))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is no program", path)
	}
	return nil
}
