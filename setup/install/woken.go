package install

import (
	"fmt"
	"html"
	"os"
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
		if c, ok := j.checkUnits(via); ok {
			return j.prefix(), c
		}
	}
	if sum, err := s.Slots().Summary(s.Config.Schedule); err == nil && sum.Last != nil && len(sum.Problems) == 0 {
		return j.prefix(), []setup.Check{{Check: "woken", OK: true,
			Found: "install has written nothing, but something took the slot of " + setup.Clock(sum.Last.Slot), Hint: "is that rouse schedule? then see that it starts with the machine"}}
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

// checkUnits looks at the home's unit files, if there are any.
func (j Job) checkUnits(via string) ([]setup.Check, bool) {
	files, err := j.files(via)
	if err != nil {
		return nil, false
	}
	text, err := os.ReadFile(files[0].path)
	if err != nil {
		return nil, false
	}
	c := setup.Check{Check: "woken", Found: "by " + via + ", every minute"}
	if !j.starts(string(text)) {
		c.Found, c.Hint = files[0].path+" starts another program than this one, "+j.Program, "call rouse install --via "+via+" again"
		return []setup.Check{c}, true
	}
	if via == "systemd" {
		if state, err := j.tool(nil, "systemctl", "--user", "is-active", j.name()+".timer"); err != nil {
			c.Found, c.Hint = "its timer is not active: "+strings.TrimSpace(state+err.Error()), "call rouse install --via systemd again"
			return []setup.Check{c}, true
		}
		if linger, err := j.tool(nil, "loginctl", "show-user", fmt.Sprint(os.Getuid()), "--property=Linger", "--value"); err == nil && strings.TrimSpace(linger) == "no" {
			c.Found, c.Hint = "its timer ends when you log out", "call: loginctl enable-linger"
			return []setup.Check{c}, true
		}
	}
	c.OK = true
	return append([]setup.Check{c}, dated(string(text))...), true
}
