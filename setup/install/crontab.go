package install

import (
	"errors"
	"fmt"
	"strings"
)

// The marks around what install writes into a crontab.
func (j Job) begin() string { return "# rouse begin " + j.home.Dir }
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
	_, after, found := cutLine(tab, j.begin())
	block, _, ended := cutLine(after, j.end())
	line, isLine := strings.CutPrefix(block, everyMinute)
	return strings.ReplaceAll(line, `\%`, "%"), found && ended && isLine
}

// crontab is what the user's crontab holds; a user without one has an empty one.
func (j Job) crontab() (string, error) {
	text, err := j.tool(nil, "crontab", "-l")
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no crontab for") {
		return "", nil
	}
	return text, err
}

// without is a crontab without the home's entry; every other line is as it was.
func (j Job) without(tab string) (rest string, found bool, err error) {
	before, after, found := cutLine(tab, j.begin())
	if !found {
		return tab, false, nil
	}
	_, after, ended := cutLine(after, j.end())
	if !ended {
		return "", false, fmt.Errorf("the crontab has %q without its end; remove that entry with: crontab -e", j.begin())
	}
	return before + after, true, nil
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

func (j Job) putCron() error {
	tab, err := j.crontab()
	if err != nil {
		return err
	}
	rest, _, err := j.without(tab)
	if err != nil {
		return err
	}
	if rest != "" && !strings.HasSuffix(rest, "\n") {
		rest += "\n"
	}
	if want := rest + j.cronBlock(); want != tab {
		return j.writeCron(want)
	}
	return nil
}

func (j Job) removeCron() (bool, error) {
	tab, err := j.crontab()
	if err != nil {
		if strings.Contains(err.Error(), "no such program") {
			return false, nil
		}
		return false, err
	}
	rest, found, err := j.without(tab)
	if err != nil || !found {
		return false, err
	}
	return true, j.writeCron(rest)
}

// writeCron writes the crontab and reads it again.
func (j Job) writeCron(text string) error {
	if _, err := j.tool([]byte(text), "crontab", "-"); err != nil {
		return err
	}
	got, err := j.crontab()
	if err != nil {
		return err
	}
	if got != text && !strings.HasSuffix(got, text) { // some put lines of their own on top
		return errors.New("the crontab is not what was written; look at it with: crontab -l")
	}
	return nil
}
