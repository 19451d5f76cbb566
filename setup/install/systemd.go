package install

import (
	"fmt"
	"os"
	"strings"

	"rouse/internal/proc"
	"rouse/setup"
)

// systemctl asks the user's own systemd. sudo and su leave out where that is.
func (j Job) systemctl(args ...string) (stdout string, err error) {
	c := proc.Command{Argv: append([]string{"systemctl", "--user"}, args...)}
	if usual := fmt.Sprintf("/run/user/%d", os.Geteuid()); !own(j.process.Getenv("XDG_RUNTIME_DIR")) && own(usual) {
		c.Env = []string{"XDG_RUNTIME_DIR=" + usual, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + usual + "/bus"}
	}
	stdout, _, err = j.call(c)
	return stdout, err
}

// noManager is what to do where the user's systemd does not answer.
const noManager = "log in as this user, or call as root: loginctl enable-linger USER"

// answers says why the user's systemd cannot be asked.
func (j Job) answers() error {
	if _, err := j.systemctl("daemon-reload"); err != nil {
		return fmt.Errorf("%w; %s", err, noManager)
	}
	return nil
}

// startTimer has systemd take the units in; it says what else is to be done.
func (j Job) startTimer() (hint string, err error) {
	if _, err = j.systemctl("daemon-reload"); err == nil {
		_, err = j.systemctl("enable", "--now", j.name()+".timer")
	}
	if err == nil && j.lingers() != "yes" {
		hint = "so that it also runs while you are not logged in, " + lingerHint
	}
	return hint, err
}

// lingerHint: whoever is logged in may call it, where polkit is installed.
const lingerHint = "call: loginctl enable-linger (where that is denied: sudo loginctl enable-linger $USER)"

// lingers is yes if the user's systemd runs while nobody is logged in, no if it does
// not, and "" where that is not known.
func (j Job) lingers() string {
	out, err := j.tool(nil, "loginctl", "show-user", fmt.Sprint(os.Geteuid()), "--property=Linger", "--value")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// timerState is what systemd says of a timer: whether it runs, and will when the
// machine has started again.
func (j Job) timerState(name string) (active, enabled string, err error) {
	out, err := j.systemctl("show", name+".timer", "--property=ActiveState,UnitFileState")
	for line := range strings.Lines(out) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ActiveState":
			active = value
		case "UnitFileState":
			enabled = value
		}
	}
	return active, enabled, err
}

// checkTimer says what keeps systemd from waking the home by a unit; "" is nothing.
func (j Job) checkTimer(name string) (c setup.Check, ok bool) {
	active, enabled, err := j.timerState(name)
	const again = "call rouse install --via systemd again"
	switch {
	case err != nil:
		c.Found, c.Hint = "by systemd, which does not answer: "+err.Error(), noManager
	case active != "active":
		c.Found, c.Hint = "its timer is not active: "+active, again
	case enabled != "enabled":
		c.Found, c.Hint = "its timer runs, but not when the machine has started again: "+enabled, again
	case j.lingers() == "no":
		c.Found, c.Hint = "its timer ends when you log out", lingerHint
	default:
		return c, true
	}
	c.Check = "woken"
	return c, false
}
