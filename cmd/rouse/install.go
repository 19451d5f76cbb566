package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"rouse/agent/config"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/internal/vault"
)

func (a *app) newInstall() *cobra.Command {
	via, print := "cron", false
	if runtime.GOOS == "darwin" {
		via = "launchd"
	}
	c := &cobra.Command{
		Use:   "install [SPEC]",
		Short: "Have the machine wake the home as its schedule says",
		Long: `Write SPEC, if given, into rouse.yaml as its schedule, and have cron, systemd (of this user) or
launchd run "rouse run --due" every minute. That looks at the schedule and does nothing unless a slot
is due. What it prints goes to logs/due.log. Installing again changes nothing else.

A key for the model does not come from this terminal: put it into the file .env in the home, readable
by you alone, as a line NAME=VALUE. Rouse reads it whenever it is called in the home.

Exit codes: 0, 1 if it cannot be installed, 2 usage or configuration.`,
		Example: `  rouse install '*/15 * * * *'
  rouse install --via systemd --print '@daily'`,
		Args: strict(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return a.install(via, print, args) },
	}
	c.Flags().StringVar(&via, "via", via, "cron, systemd or launchd")
	c.Flags().BoolVar(&print, "print", false, "show what would be written, and write nothing")
	return c
}

func (a *app) newUninstall() *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Undo install: the machine wakes the home no more",
		Long: `Remove what install has written for this home from crontab, systemd and launchd, and nothing else.
rouse.yaml stays as it is.

Exit codes: 0, also if nothing was installed, 1 if it cannot be removed.`,
		Args: strict(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return a.uninstall() },
	}
}

// job is what is to be run every minute.
type job struct {
	app     *app
	home    home.Home
	program string
	path    string // the PATH it gets
	zone    string // the TZ it gets, mostly none
}

func (a *app) job(h home.Home) (job, error) {
	program, err := os.Executable()
	if err != nil {
		return job{}, err
	}
	j := job{app: a, home: h, program: program, zone: a.alone().Getenv("TZ")}
	var dirs []string
	for _, dir := range filepath.SplitList(a.alone().Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	j.path = cmp.Or(strings.Join(dirs, ":"), "/usr/local/bin:/usr/bin:/bin")
	for _, part := range j.parts() {
		if strings.ContainsAny(part, "\n\r") {
			return job{}, fmt.Errorf("%s has a line break, and cannot be installed: name it differently", text.Line(part, 300))
		}
	}
	return j, nil
}

// parts are what comes from outside into what is installed.
func (j job) parts() []string { return []string{j.home.Dir, j.program, j.path, j.zone} }

// check refuses what a crontab or a unit could hold, but nobody could read there,
// or not as it is meant.
func (j job) check(via string) error {
	for _, part := range j.parts() {
		if text.Obeyed(part) || via != "cron" && !utf8.ValidString(part) {
			return fmt.Errorf("%s has a character that cannot be shown, and cannot be installed: name it differently", text.Line(part, 300))
		}
	}
	return nil
}

// name tells the home from others in the names of units.
func (j job) name() string {
	return fmt.Sprintf("rouse-%.4x", sha256.Sum256([]byte(j.home.Dir)))
}

func (a *app) install(via string, print bool, args []string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	h, conf := s.Home, s.Config
	written, entries, err := a.withSpec(h, conf, args)
	if err != nil {
		return usage(err)
	}
	if err := checkInstall(via, entries); err != nil {
		return usage(err)
	}
	next := entries.Next(a.now())
	if next.IsZero() {
		return usage(errors.New("the schedule has no slot any more; see not_after in rouse.yaml"))
	}
	j, err := a.job(h)
	if err == nil {
		err = j.check(via)
	}
	if err != nil {
		return usage(err)
	}
	err = a.checkAlone(h)
	if print {
		if written != nil {
			fmt.Fprintf(a.stdout, "--- %s\n%s", h.Config(), written)
		}
		return errors.Join(j.print(via), usage(err))
	}
	if err != nil {
		return usage(err)
	}
	if written != nil {
		if err := replaceConfig(h, written); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	if err := s.Slots().Begin(entries); err != nil {
		return err
	}
	if err := j.put(via); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	fmt.Fprintf(a.stdout, "installed by %s; the next slot is %s\n", via, next.Format("2006-01-02 15:04:05 -0700"))
	return nil
}

// replaceConfig writes rouse.yaml anew. Who may read it stays, and a link to it too.
func replaceConfig(h home.Home, text []byte) error {
	path, perm := home.Resolved(h.Config()), fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	return disk.Replace(disk.OS{}, path, text, perm)
}

// withSpec is rouse.yaml with the specification, nil if it need not change, and
// the schedule that it then has.
func (a *app) withSpec(h home.Home, conf config.Config, args []string) ([]byte, schedule.List, error) {
	if len(args) == 0 {
		if len(conf.Schedule) == 0 {
			return nil, nil, errors.New("rouse.yaml has no schedule; say when, as in: rouse install '*/15 * * * *'")
		}
		return nil, conf.Schedule, nil
	}
	e, err := schedule.New(args[0])
	if err != nil {
		return nil, nil, err
	}
	if len(conf.Schedule) == 1 && conf.Schedule[0].Cron == e.Cron {
		return nil, conf.Schedule, nil
	}
	old, err := os.ReadFile(h.Config())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	text, err := config.SetCron(old, e.Cron)
	if err != nil {
		return nil, nil, err
	}
	if len(conf.Schedule) == 1 { // its other keys stay
		entry, err := conf.Schedule[0].With(e.Cron)
		return text, schedule.List{entry}, err
	}
	return text, schedule.List{e}, nil
}

// checkInstall refuses what could not work while nobody looks.
func checkInstall(via string, entries schedule.List) error {
	switch via {
	case "cron", "systemd", "launchd":
	default:
		return fmt.Errorf("--via %s: use cron, systemd or launchd", via)
	}
	for _, e := range entries {
		if e.Seconds() {
			return fmt.Errorf("%q wants slots within a minute, and %s looks once a minute; run rouse schedule as a service instead", e.Cron, via)
		}
	}
	return nil
}

// checkAlone sees to it that .env is fit to hold keys, and that the model is one
// even without this terminal's environment.
func (a *app) checkAlone(h home.Home) error {
	if err := cmp.Or(a.dotenv.Err, vault.CheckEnv(h.Env())); err != nil {
		return err
	}
	env := map[string]string{}
	for _, v := range a.dotenv.All {
		env[v.Name] = v.Value
	}
	anything := func(name string) string { // a key, whatever its name
		if name == "OPENAI_BASE_URL" {
			return ""
		}
		return "set"
	}
	meant, err := config.Load(h.Config(), anything)
	if err != nil || meant.Model.Provider == "offline" {
		return err
	}
	bare, err := config.Load(h.Config(), func(name string) string { return env[name] })
	if err != nil {
		return err
	}
	if bare.Model.BaseURL == "" && env[bare.Model.APIKeyEnv] == "" {
		return fmt.Errorf("without this terminal's environment the model has neither key nor address: write model.base_url into rouse.yaml, "+
			"or %s=… into %s (mode 0600), or set model.provider: offline", bare.Model.APIKeyEnv, h.Env())
	}
	return nil
}

// print shows what put would write.
func (j job) print(via string) error {
	if via == "cron" {
		fmt.Fprintf(j.app.stdout, "--- crontab\n%s", j.cronBlock())
		return nil
	}
	files, err := j.files(via)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintf(j.app.stdout, "--- %s\n%s", f.path, f.text)
	}
	return nil
}

func (j job) put(via string) error {
	if via == "cron" {
		return j.putCron()
	}
	return j.putFiles(via)
}

func (a *app) uninstall() error {
	h, err := a.openHome()
	if err != nil {
		return err
	}
	j, err := a.job(h)
	if err != nil {
		return err
	}
	var removed []string
	for via, remove := range map[string]func() (bool, error){
		"cron": j.removeCron, "systemd": func() (bool, error) { return j.removeFiles("systemd") },
		"launchd": func() (bool, error) { return j.removeFiles("launchd") },
	} {
		ok, err := remove()
		if err != nil {
			return fmt.Errorf("uninstall from %s: %w", via, err)
		}
		if ok {
			removed = append(removed, via)
		}
	}
	if len(removed) == 0 {
		fmt.Fprintln(a.stdout, "nothing was installed")
		return nil
	}
	fmt.Fprintf(a.stdout, "removed from %s; rouse.yaml is as it was\n", strings.Join(removed, ", "))
	return nil
}

// tool runs a program of the system, with this terminal's environment.
func (j job) tool(stdin []byte, argv ...string) (stdout string, err error) {
	c := proc.Command{Argv: argv}
	if stdin != nil {
		c.Stdin = bytes.NewReader(stdin)
	}
	stdout, _, err = j.call(c)
	return stdout, err
}

func (j job) call(c proc.Command) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr, c.MaxOutput = &out, &errs, 4<<20
	exit, err := (&proc.Runner{Env: j.app.given()}).Run(context.Background(), c)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	if !exit.OK() {
		return "", "", fmt.Errorf("%s: %s: %s", strings.Join(c.Argv, " "), exit, strings.TrimSpace(errs.String()))
	}
	return out.String(), errs.String(), nil
}
