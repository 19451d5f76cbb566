package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/internal/redact"
	"rouse/setup"
)

// process is what homes are opened with: once one is found, with its .env.
func (a *app) process() setup.Process {
	return setup.Process{Environ: a.environ, Dotenv: a.dotenv, Now: a.now, Version: version(), Mirror: a.mirror}
}

func (a *app) getenv(name string) string { return a.process().Getenv(name) }

// openHome finds the home: flag, then environment, then the current folder.
func (a *app) openHome() (home.Home, error) {
	h, err := home.Open(a.folder())
	if err == nil && a.dotenv == nil {
		a.readEnv(h)
	}
	return h, usage(err)
}

func (a *app) folder() string { return cmp.Or(a.home, a.process().Alone().Getenv("ROUSE_HOME"), ".") }

// anyHome finds the home, whatever its version: a brake works in all.
func (a *app) anyHome() (home.Home, error) {
	h, err := home.At(a.folder())
	return h, usage(err)
}

// readEnv takes in the variables of the home's .env. The libraries that look into
// the environment by themselves, for a time zone, find them too, but not a proxy: the model's key would go through it,
// and a tool can write .env.
func (a *app) readEnv(h home.Home) {
	p := a.process().In(h)
	a.environ, a.dotenv = p.Environ, p.Dotenv
	for _, v := range p.Dotenv.Added {
		if !setup.IsProxy(v.Name) {
			_ = os.Setenv(v.Name, v.Value) // whose name and value are fit for it
		}
	}
}

// openWhole finds a home whose .env can be read. Verbs that need none of it, such
// as pause and log, work without.
func (a *app) openWhole() (home.Home, error) {
	h, err := a.openHome()
	if err == nil {
		err = usage(a.dotenv.Err)
	}
	return h, err
}

// open finds the home and reads its configuration.
func (a *app) open() (*setup.Setup, error) {
	h, err := a.openHome()
	if err != nil {
		return nil, err
	}
	s, err := setup.Open(h, a.process())
	if err == nil {
		a.setup = s
	}
	return s, usage(err)
}

// runner is what runs a command line, as cobra wants it.
type runner = func(*cobra.Command, []string) error

// in runs a verb with what it opens first: the home, or what is made of it.
func in[T any](open func() (T, error), run func(opened T, args []string) error) runner {
	return func(_ *cobra.Command, args []string) error {
		opened, err := open()
		if err != nil {
			return err
		}
		return run(opened, args)
	}
}

// redactor hides all secrets that were read.
func (a *app) redactor() *redact.Redactor {
	if a.setup != nil {
		return a.setup.Redactor()
	}
	return redact.FromEnv(a.environ, nil)
}

// redacted is a text without secrets.
func (a *app) redacted(text string) string { return a.redactor().String(text) }
