package install

import (
	"cmp"
	"html"
	"os"
	"path/filepath"
	"rouse/setup"
	"slices"
	"strings"
)

// Woken finds what wakes the home, and how its command begins; where nothing
// does, it is the beginning of what install would write.
func (j Job) Woken(s *setup.Setup) (prefix string, checks []setup.Check) {
	if tab, err := j.crontab(); err == nil {
		if prefix, ok := j.installedPrefix(tab); ok {
			command, _ := j.installed(tab)
			return prefix, append([]setup.Check{j.checkCron(prefix)}, dated(command)...)
		}
	}
	for _, via := range []string{"systemd", "launchd"} {
		if path, unit, ok := j.unit(via); ok {
			return j.given(unit).prefix(), j.checkUnit(via, path, unit)
		}
	}
	sum, err := s.Slots().Summary(s.Config.Schedule)
	slots, err2 := s.Slots().Slots()
	if n := len(slots); err == nil && err2 == nil && sum.Woken && n > 0 { // whatever became of it
		return j.prefix(), []setup.Check{{Check: "woken", OK: true,
			Found: "install has written nothing, but something took the slot of " + setup.Clock(slots[n-1].Slot), Hint: "is that rouse schedule? then see that it starts with the machine"}}
	}
	return j.prefix(), []setup.Check{{Check: "woken", Found: "nothing wakes the home: neither an entry in crontab nor a timer",
		Hint: "call rouse install, or run rouse schedule as a service"}}
}

// checkCron looks at the home's entry in the crontab, and for the daemon.
func (j Job) checkCron(prefix string) setup.Check {
	c := setup.Check{Check: "woken", Found: "by cron, every minute"}
	switch running, known := cronRuns(); {
	case !strings.HasSuffix(prefix, " "+Quoted(j.Program)):
		c.Found, c.Hint = "the crontab starts another program than this one, "+j.Program, "call rouse install again"
	case known && !running:
		c.Found, c.Hint = "the crontab has an entry, but no cron runs here", "start cron, or run rouse schedule as a service"
	default:
		c.OK = true
	}
	return c
}

// dated tells of what an older version installed, which works as it did.
func dated(installed string) []setup.Check {
	how := ""
	switch {
	case strings.Contains(installed, sources), strings.Contains(installed, "\nEnvironmentFile="):
		how = "other programs than rouse hold the values of .env"
	case strings.Contains(installed, "\n[Service]\n") && !strings.Contains(installed, "\nOOMPolicy="):
		how = "a tool that runs out of memory ends its cycle"
	case strings.Contains(installed, "\n[Service]\n") && !strings.Contains(installed, "\nDelegate="):
		how = "the sandbox bounds the memory of each process, not that of a call"
	case strings.Contains(installed, redirects):
		how = "what goes wrong is in logs/due.log alone, and cron mails none of it"
	default:
		return nil
	}
	return []setup.Check{{Check: "woken", OK: true, Found: "by what an older version installed: " + how, Hint: "call rouse install again, in the same way"}}
}

// starts says whether a unit starts this program.
func (j Job) starts(unit string) bool {
	words := []string{systemdWord(j.Program), ">" + html.EscapeString(j.Program) + "<", html.EscapeString("exec " + Quoted(j.Program) + " run")}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(unit, word) })
}

// unit is the home's file that says what is started, if there is one, by whatever
// path to the home it was written for.
func (j Job) unit(via string) (path, text string, ok bool) {
	files, err := j.files(via)
	if err != nil {
		return "", "", false
	}
	for _, path := range append([]string{files[0].path}, j.written(filepath.Dir(files[0].path))...) {
		if filepath.Ext(path) == ".timer" {
			continue
		}
		if text, err := os.ReadFile(path); err == nil {
			return path, string(text), true
		}
	}
	return "", "", false
}

// given is the job with what its unit gives it, perhaps not what this terminal has.
func (j Job) given(unit string) Job {
	j.path, j.zone = cmp.Or(variable(unit, "PATH"), j.path), variable(unit, "TZ")
	return j
}

// variable is what a unit, as install writes it, sets a variable to.
func variable(unit, name string) string {
	if _, set, ok := strings.Cut(unit, "<key>EnvironmentVariables</key>"); ok {
		return plistString(set, name)
	}
	for line := range strings.Lines(unit) {
		if word, ok := strings.CutPrefix(strings.TrimSpace(line), `Environment="`+name+"="); ok {
			return strings.NewReplacer(`\\`, `\`, `\"`, `"`, "%%", "%").Replace(strings.TrimSuffix(word, `"`))
		}
	}
	return ""
}

// plistString is the string of a key in a plist as install writes it.
func plistString(plist, key string) string {
	_, value, _ := strings.Cut(plist, "<key>"+key+"</key><string>")
	value, _, _ = strings.Cut(value, "</string>")
	return html.UnescapeString(value)
}

// checkUnit looks at the home's unit, and whether it is started.
func (j Job) checkUnit(via, path, unit string) []setup.Check {
	if !j.starts(unit) {
		return []setup.Check{{Check: "woken", Found: path + " starts another program than this one, " + j.Program, Hint: "call rouse install --via " + via + " again"}}
	}
	if via == "systemd" {
		if c, ok := j.checkTimer(unitName(path)); !ok {
			return []setup.Check{c}
		}
	}
	return append([]setup.Check{{Check: "woken", OK: true, Found: "by " + via + ", every minute"}}, dated(unit)...)
}
