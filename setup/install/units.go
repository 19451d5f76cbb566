package install

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rouse/internal/disk"
	"rouse/internal/lazy"
	"rouse/internal/proc"
	"rouse/setup"
)

// unit is a file of systemd or launchd.
type unit struct{ path, text string }

// files are the files that run the job every minute.
func (j Job) files(via string) ([]unit, error) {
	home := j.process.Getenv("HOME")
	if home == "" {
		return nil, errors.New("$HOME is not set")
	}
	if via == "launchd" {
		return []unit{{filepath.Join(home, "Library", "LaunchAgents", j.name()+".plist"), j.plist()}}, nil
	}
	dir := filepath.Join(cmp.Or(j.process.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "systemd", "user")
	return []unit{
		{filepath.Join(dir, j.name()+".service"), j.service()},
		{filepath.Join(dir, j.name()+".timer"), j.timer()},
	}, nil
}

// systemdWord is a word as systemd reads it in a command; see systemd.syntax(7)
// and, for specifiers, systemd.unit(5).
func systemdWord(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(s) + `"`
}

// systemdPath is the value of a setting that takes a path, where quotes are none.
func systemdPath(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// service is the unit of a cycle. Rouse alone is told to end, and ends what it has
// started; to be told is no failure. A tool that the kernel kills for want of memory
// is a result like any other, and ends no cycle. Rouse bounds each call by a cgroup in
// that of the service.
func (j Job) service() string {
	env := "Environment=" + strings.ReplaceAll(systemdWord("PATH="+j.path), "$$", "$") + "\n"
	if j.zone != "" {
		env += "Environment=" + systemdWord("TZ="+j.zone) + "\n"
	}
	return fmt.Sprintf(writtenFor+`%[1]s; removed by rouse uninstall.
[Unit]
Description=Rouse: wake %[2]s if a slot is due

[Service]
Type=oneshot
WorkingDirectory=%[2]s/
%[3]sExecStart=%[4]s run --due --home %[5]s --mail
KillMode=mixed
OOMPolicy=continue
Delegate=memory pids
Environment=ROUSE_DELEGATED=1
TimeoutStopSec=60
SuccessExitStatus=3 75 143
`, j.home.Dir, systemdPath(j.home.Dir), env, systemdWord(j.Program), systemdWord(j.home.Dir))
}

func (j Job) timer() string {
	return fmt.Sprintf(writtenFor+`%s; removed by rouse uninstall.
[Unit]
Description=Rouse: look every minute whether a slot is due

[Timer]
OnCalendar=*-*-* *:*:00
AccuracySec=1s

[Install]
WantedBy=timers.target
`, j.home.Dir)
}

func (j Job) plist() string {
	text := func(s string) string { return "<string>" + html.EscapeString(s) + "</string>" }
	zone := ""
	if j.zone != "" {
		zone = "<key>TZ</key>" + text(j.zone)
	}
	command := text(j.Program) + text("run") + text("--due") + text("--home") + text(j.home.Dir) + text("--mail")
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by rouse install; removed by rouse uninstall. -->
<plist version="1.0"><dict>
	<key>Label</key>%s
	<key>ProgramArguments</key><array>%s</array>
	<key>WorkingDirectory</key>%s
	<key>EnvironmentVariables</key><dict><key>PATH</key>%s%s</dict>
	<key>StartCalendarInterval</key><dict/>
</dict></plist>
`, text(j.name()), command, text(j.home.Dir), text(j.path), zone)
}

// putFiles writes the files, and has the system take them in.
func (j Job) putFiles(via string) (hint string, err error) {
	files, err := j.files(via)
	if err != nil {
		return "", err
	}
	if via == "systemd" {
		if err := j.answers(); err != nil {
			return "", err
		}
		if err := j.verify(files); err != nil {
			return "", err
		}
	}
	if err := j.removeOthers(via, files[0].path); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return "", err
		}
		if err := disk.Replace(disk.OS{}, f.path, []byte(f.text), 0o644); err != nil {
			return "", err
		}
	}
	if via == "launchd" {
		_, _ = j.tool(nil, "launchctl", "unload", files[0].path) // an older one
		_, err = j.tool(nil, "launchctl", "load", "-w", files[0].path)
		return "", err
	}
	return j.startTimer()
}

// removeOthers removes what was installed for the home by another path to it.
func (j Job) removeOthers(via, own string) (err error) {
	dir := filepath.Dir(own)
	for _, path := range j.written(dir) {
		if unitName(path) != unitName(own) {
			err = cmp.Or(err, j.removeUnit(via, dir, unitName(path)))
		}
	}
	return err
}

// unitName is the name of a unit, without its kind.
func unitName(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }

// verify lets systemd check the units before they are installed, where it can.
func (j Job) verify(files []unit) error {
	dir, err := os.MkdirTemp("", "rouse")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	argv := []string{"systemd-analyze", "--user", "verify"}
	for _, f := range files {
		path := filepath.Join(dir, filepath.Base(f.path))
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			return err
		}
		argv = append(argv, path)
	}
	// It wants a folder of a login; of what it ignores it only speaks.
	_, said, err := j.call(proc.Command{Argv: argv, Env: []string{"XDG_RUNTIME_DIR=" + dir}})
	said = oldSystemd.Get().ReplaceAllString(said, "")
	switch {
	case err != nil && strings.Contains(err.Error(), "no such program"):
		return nil
	case err == nil && strings.Contains(said, j.name()):
		return fmt.Errorf("systemd-analyze verify: %s", strings.TrimSpace(said))
	}
	return err
}

// oldSystemd is what one before version 243 says of a key that it leaves out.
var oldSystemd = lazy.Regexp{Expr: `(?m)^.*'OOMPolicy'.*\n?`}

// removeFiles removes what is there of the home's files, also where the system was
// never told of them, or cannot be.
func (j Job) removeFiles(via string) (found bool, err error) {
	files, err := j.files(via)
	if err != nil {
		return false, nil
	}
	names := map[string]bool{}
	for _, path := range append(j.written(filepath.Dir(files[0].path)), files[0].path, files[len(files)-1].path) {
		if _, err := os.Lstat(path); err == nil {
			names[unitName(path)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		err = cmp.Or(err, j.removeUnit(via, filepath.Dir(files[0].path), name))
	}
	if via == "systemd" && len(names) > 0 {
		_, _ = j.systemctl("daemon-reload") // one that does not run knows nothing of them
		for name := range names {
			_, _ = j.systemctl("reset-failed", name+".service") // else one that failed stays listed
		}
	}
	return len(names) > 0, err
}

// removeUnit ends what is installed by a name. Where the system does not answer,
// nothing of it runs; what it reads when it starts is removed here.
func (j Job) removeUnit(via, dir, name string) (err error) {
	path := filepath.Join(dir, name)
	files := []string{path + ".plist"}
	if via == "systemd" {
		_, _ = j.systemctl("disable", "--now", name+".timer")
		files = []string{path + ".service", path + ".timer", filepath.Join(dir, "timers.target.wants", name+".timer")}
	} else {
		_, _ = j.tool(nil, "launchctl", "unload", "-w", files[0])
	}
	for _, f := range files {
		if e := os.Remove(f); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = cmp.Or(err, e)
		}
	}
	if via != "systemd" {
		return err
	}
	if active, _, failed := j.timerState(name); failed == nil && active == "active" {
		err = cmp.Or(err, fmt.Errorf("its files are removed, but its timer still runs; call: systemctl --user stop %s.timer", name))
	}
	return err
}

// written are the files in a folder that say that they were written for the home,
// perhaps by another path to it.
func (j Job) written(dir string) (list []string) {
	paths, _ := filepath.Glob(filepath.Join(dir, "rouse-*")) // the pattern is none of a user's
	for _, path := range paths {
		data, err := disk.ReadSmall(path, 64<<10)
		if err != nil {
			continue
		}
		text := string(data)
		if strings.HasSuffix(path, ".plist") {
			text = plistString(text, "WorkingDirectory")
		} else {
			text, _, _ = strings.Cut(strings.TrimPrefix(text, writtenFor), "; removed by")
		}
		if filepath.IsAbs(text) && j.is(text) {
			list = append(list, path)
		}
	}
	return list
}

// writtenFor begins a unit of systemd, before the home's folder.
const writtenFor = setup.InUnit
