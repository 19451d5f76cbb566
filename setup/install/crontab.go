package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rouse/setup"
)

// The marks around what install writes into a crontab.
func (j Job) begin() string { return beginning + j.home.Dir }
func (j Job) end() string   { return "# rouse end " + j.home.Dir }

// prefix is what comes before the verb of a command: the folder, the variables that
// it gets, and the program, in whose place no shell stays. The variables of .env
// are not among them: Rouse reads it, and a shell would show them to others.
func (j Job) prefix() string {
	zone := ""
	if j.zone != "" {
		zone = " TZ=" + Quoted(j.zone)
	}
	return fmt.Sprintf("cd %s && export PATH=%s%s && exec %s", Quoted(j.home.Dir), Quoted(j.path), zone, Quoted(j.Program))
}

// sources is how the commands of older versions had a shell read .env.
const sources = ". ./.env"

// what cron runs. Of older versions the shell wrote due.log, so that cron had nothing
// to mail.
const everyMinute, due, mail, redirects = "* * * * * ", " run --due --home ", " --mail", " 2>&1"

// cronBlock is the entry of the home with its marks. In a command of cron a
// percent sign ends the line, unless it is escaped; behind a backslash, which
// escapes what follows it, an end and a beginning of quotes stand between the two.
func (j Job) cronBlock() string {
	command := j.prefix() + due + Quoted(j.home.Dir) + mail
	command = strings.NewReplacer(`\%`, `\''\%`, "%", `\%`).Replace(command)
	return j.begin() + "\n" + everyMinute + command + "\n" + j.end() + "\n"
}

// Command is what the machine runs, whose beginning is the prefix.
func (j Job) Command(prefix string) string { return prefix + due + Quoted(j.home.Dir) }

// installedPrefix is the prefix of the command that the crontab has for the home.
func (j Job) installedPrefix(tab string) (prefix string, ok bool) {
	line, ok := j.installed(tab)
	prefix, _, isDue := strings.Cut(line, due)
	return prefix, ok && isDue
}

// installed is the command that the crontab has for the home.
func (j Job) installed(tab string) (command string, ok bool) {
	j = j.known(tab)
	_, after, found := cutLine(tab, j.begin())
	block, _, ended := cutLine(after, j.end())
	line, isLine := strings.CutPrefix(block, everyMinute)
	return strings.ReplaceAll(line, `\%`, "%"), found && ended && isLine
}

// Shell is what cron gives the home's entry to: the one that the crontab names above it.
func (j Job) Shell() string {
	shell := "/bin/sh"
	tab, err := j.crontab()
	above, _, found := cutLine(tab, j.known(tab).begin())
	if err != nil || !found {
		return shell
	}
	for line := range strings.Lines(above) {
		if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "SHELL" {
			shell = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return shell
}

// crontab is what the user's crontab holds; a user without one has an empty one.
func (j Job) crontab() (string, error) {
	text, err := j.tool(nil, "crontab", "-l")
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no crontab for") {
		return "", nil
	}
	return text, err
}

// beginning is how the first line of an entry begins, before the home's folder.
const beginning = setup.InCrontab

// without is a crontab without the home's entries, by whatever path they name it;
// every other line is as it was.
func (j Job) without(tab string) (rest string, found bool, err error) {
	for _, dir := range j.entries(tab) {
		other := j
		other.home.Dir = dir
		before, after, _ := cutLine(tab, other.begin())
		_, after, ended := cutLine(after, other.end())
		if !ended {
			return "", false, fmt.Errorf("the crontab has %q without its end; remove that entry with: crontab -e", other.begin())
		}
		tab, found = before+after, true
	}
	return tab, found, nil
}

// known is the job with the home's folder as the crontab names it.
func (j Job) known(tab string) Job {
	if dirs := j.entries(tab); len(dirs) > 0 && !slices.Contains(dirs, j.home.Dir) {
		j.home.Dir = dirs[0]
	}
	return j
}

// entries are the folders of the entries in a crontab that are the home's.
func (j Job) entries(tab string) (dirs []string) {
	for line := range strings.Lines(tab) {
		if dir, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), beginning); ok && j.is(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// cutLine cuts a text around a line.
func cutLine(text, line string) (before, after string, found bool) {
	at := 0
	for l := range strings.Lines(text) {
		if strings.TrimRight(l, "\r\n") == line {
			return text[:at], text[at+len(l):], true
		}
		at += len(l)
	}
	return text, "", false
}

// tries is how often a crontab is written that somebody else writes at the same time.
const tries = 5

// putCron lets the crontab have the home's entry once, as it is now.
func (j Job) putCron() error {
	return j.change(func(tab string) (string, error) {
		rest, _, err := j.without(tab)
		if err != nil || strings.Contains(tab, j.cronBlock()) && len(j.entries(tab)) == 1 {
			return tab, err
		}
		if rest != "" && !strings.HasSuffix(rest, "\n") {
			rest += "\n"
		}
		return rest + j.cronBlock(), nil
	})
}

func (j Job) removeCron() (removed bool, err error) {
	err = j.change(func(tab string) (string, error) {
		rest, found, err := j.without(tab)
		removed = removed || found
		return rest, err
	})
	if err != nil && !removed && strings.Contains(err.Error(), "no such program") {
		return false, nil
	}
	return removed, err
}

// change makes of the crontab what want says, and reads it again until it is: others
// may write it too, and know no lock of ours. What they wrote stays.
func (j Job) change(want func(tab string) (string, error)) error {
	for range tries {
		tab, err := j.crontab()
		if err != nil {
			return err
		}
		text, err := want(tab)
		if err != nil || text == tab {
			return err
		}
		if now, err := j.crontab(); err != nil || now != tab {
			continue
		}
		if _, err := j.tool([]byte(text), "crontab", "-"); err != nil {
			return err
		}
	}
	return errors.New("the crontab is not what was written; look at it with: crontab -l")
}
