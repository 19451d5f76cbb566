package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/setup"
	"rouse/setup/install"
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
is due. What goes wrong is in logs/due.log, and printed where it is news, so that cron
mails it once. Installing again changes nothing else.

A key for the model does not come from this terminal: put it into the file .env in the home, readable
by you alone, as a line NAME=VALUE. Rouse reads it whenever it is called in the home.

Exit codes: 0, 1 if it cannot be installed, 2 usage or configuration.`,
		Example: `  rouse install '*/15 * * * *'
  rouse install --via systemd --print '@daily'`,
		Args: cobra.MaximumNArgs(1),
		RunE: in(a.open, func(s *setup.Setup, args []string) error { return a.install(s, via, print, args) }),
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
rouse.yaml stays as it is. The home may be gone: name the folder that it was in.

Exit codes: 0, also if nothing was installed, 1 if it cannot be removed, 2 if there is no such home.`,
		RunE: func(*cobra.Command, []string) error { return a.uninstall(a.folder()) },
	}
}

func (a *app) install(s *setup.Setup, via string, print bool, args []string) error {
	h := s.Home
	written, entries, err := install.WithSpec(s, args)
	if err != nil {
		return usage(err)
	}
	if err := install.CheckSchedule(via, entries); err != nil {
		return usage(err)
	}
	next := entries.Next(a.now())
	if next.IsZero() {
		return usage(errors.New("the schedule has no slot any more; see not_after in rouse.yaml"))
	}
	j, err := install.New(h, s.Process)
	if err == nil {
		err = j.Check(via)
	}
	if err != nil {
		return usage(err)
	}
	if err = install.CheckAlone(h, a.dotenv); err == nil {
		err = s.CheckURLAlone()
	}
	if print {
		if written != nil {
			fmt.Fprintf(a.stdout, "--- %s\n%s", h.Config(), written)
		}
		shown, failed := j.Text(via)
		fmt.Fprint(a.stdout, shown)
		return errors.Join(failed, usage(err))
	}
	if err != nil {
		return usage(err)
	}
	if written != nil {
		if err := s.WriteConfig(written); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	if err := s.Slots().Begin(entries); err != nil {
		return err
	}
	hint, err := j.Put(via)
	if hint != "" {
		fmt.Fprintln(a.stdout, hint)
	}
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	fmt.Fprintf(a.stdout, "installed by %s; the next slot is %s\n", via, next.Format("2006-01-02 15:04:05 -0700"))
	return nil
}

func (a *app) uninstall(dir string) error {
	_, none := home.At(dir)
	j, err := install.At(dir, a.process())
	if err != nil {
		return usage(err)
	}
	removed, err := j.Remove()
	if len(removed) > 0 {
		fmt.Fprintf(a.stdout, "removed from %s; rouse.yaml is as it was\n", strings.Join(removed, ", "))
	}
	if err != nil || len(removed) > 0 {
		return err
	}
	if none != nil {
		return usage(fmt.Errorf("nothing was installed, and %w", none))
	}
	fmt.Fprintln(a.stdout, "nothing was installed")
	return nil
}
