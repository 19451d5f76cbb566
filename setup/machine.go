package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/sandbox"
)

// machine is what the walls of a home are made of, beside its configuration.
type machine struct {
	system sandbox.System
	lacks  string   // why bubblewrap cannot be used
	homes  []string // other homes, which tools of this one have no business in
}

// found is what a home keeps of its machine, so that a cycle need not find it out.
type found struct {
	Key   string   `json:"key"`   // as long as it stays, so does
	Lacks string   `json:"lacks"` // why bubblewrap cannot be used, "" where it can
	Homes []string `json:"homes"`
	Where string   `json:"where"` // they were looked for, and in which state that was
	Day   string   `json:"day"`   // when
}

// machine finds out what the machine has. What is costly it reads from what an earlier
// look has left.
func (s *Setup) machine() machine {
	var kept found
	data, err := os.ReadFile(s.Home.Machine())
	if err == nil && json.Unmarshal(data, &kept) != nil {
		kept = found{}
	}
	m, now := machine{system: sandbox.Look()}, kept
	bubblewrap, _ := proc.LookPath("bwrap", cmp.Or(s.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin"))
	if key := sandbox.Key(bubblewrap); kept.Key != key || key == "" {
		now.Key, now.Lacks = key, sandbox.Probe(bubblewrap, m.system, s.tries)
	}
	if m.lacks = now.Lacks; m.lacks == "" {
		m.system.Bubblewrap, m.system.Broken = bubblewrap, func() { _ = disk.OS{}.Remove(s.Home.Machine()) } // else it is asked again
	}
	if where, day := s.places(), s.Now().Format(time.DateOnly); kept.Where != where || kept.Day != day {
		now.Where, now.Day, now.Homes = where, day, s.others()
	}
	m.homes = now.Homes
	if text, err := json.Marshal(now); err == nil && string(text) != string(data) {
		// Without it the next cycle finds it out again.
		_ = disk.Overwrite(disk.OS{}, s.Home.Machine(), text, 0o600)
	}
	return m
}

// tries runs a program that does nothing in a box.
func (s *Setup) tries(b *sandbox.Box) error {
	said := s.Redactor().NewTail(500)
	exit, err := s.Runner().Run(context.Background(), proc.Command{Argv: []string{"true"}, Dir: "/", Stderr: said, Box: b, Timeout: probeTime})
	if err == nil && !exit.OK() {
		err = errors.New(strings.TrimSpace(exit.String() + ": " + said.String()))
	}
	return err
}

// probeTime is how long bubblewrap may take to start a program that does nothing.
const probeTime = 10 * time.Second

// What install writes before the folder of a home, at the beginning of a line.
const (
	InCrontab = "# rouse begin "
	InUnit    = "# Written by rouse install for "
)

// crontabTime is how long it may take to read the crontab.
const crontabTime = 5 * time.Second

// maxBeside is among how many folders beside a home others are looked for.
const maxBeside = 2000

// besides are the folders in which people keep homes.
func (s *Setup) besides() []string {
	dirs := []string{filepath.Dir(s.Home.Dir)}
	if person := s.Getenv("HOME"); filepath.IsAbs(person) && filepath.Clean(person) != dirs[0] {
		dirs = append(dirs, filepath.Clean(person))
	}
	return dirs
}

// units is the folder of the timers that wake homes.
func (s *Setup) units() string {
	return filepath.Join(cmp.Or(s.Getenv("XDG_CONFIG_HOME"), filepath.Join(s.Getenv("HOME"), ".config")), "systemd", "user")
}

// places are the folders where other homes show, and when something in them changed.
func (s *Setup) places() string {
	var b strings.Builder
	for _, dir := range append(s.besides(), s.units()) {
		if info, err := os.Stat(dir); err == nil {
			b.WriteString(dir + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
		}
	}
	return b.String()
}

// others are the other homes that show: those beside this one, those in the home of
// the user, and those that timers and the crontab wake.
func (s *Setup) others() (homes []string) {
	for _, dir := range s.besides() {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) <= maxBeside {
			found, _ := home.Find(dir) // one that goes meanwhile is none
			homes = append(homes, found...)
		}
	}
	units, _ := filepath.Glob(filepath.Join(s.units(), "rouse-*.service"))
	for _, unit := range units {
		text, _ := os.ReadFile(unit)
		homes = append(homes, folders(string(text), InUnit)...)
	}
	homes = append(homes, folders(s.crontab(), InCrontab)...)
	own := home.Resolved(s.Home.Dir)
	homes = slices.DeleteFunc(newLay().all(homes), func(dir string) bool { return dir == own || strings.HasPrefix(own, dir+"/") })
	slices.Sort(homes)
	return slices.Compact(homes)
}

// folders are the homes behind a prefix at the beginning of lines.
func folders(text, prefix string) (dirs []string) {
	for line := range strings.Lines(text) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
		dir, _, _ = strings.Cut(dir, "; removed by")
		if ok && filepath.IsAbs(dir) {
			if _, err := home.At(filepath.Clean(dir)); err == nil {
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	return dirs
}

// crontab is that of the user, "" where there is none.
func (s *Setup) crontab() string {
	var tab strings.Builder
	exit, err := s.Runner().Run(context.Background(), proc.Command{Argv: []string{"crontab", "-l"}, Stdout: &tab, MaxOutput: 1 << 20, Timeout: crontabTime})
	if err != nil || !exit.OK() {
		return ""
	}
	return tab.String()
}
