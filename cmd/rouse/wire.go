package main

import (
	"cmp"

	"rouse/home"
	"rouse/internal/redact"
	"rouse/setup"
)

// process is what homes are opened with.
func (a *app) process() setup.Process {
	return setup.Process{Environ: a.environ, Now: a.now, Version: version()}
}

func (a *app) getenv(name string) string { return a.process().Getenv(name) }

// openHome finds the home: flag, then environment, then the current folder.
func (a *app) openHome() (home.Home, error) {
	h, err := home.Open(cmp.Or(a.home, a.getenv("ROUSE_HOME"), "."))
	return h, usage(err)
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

// redactor hides all secrets that were read.
func (a *app) redactor() *redact.Redactor {
	if a.setup != nil {
		return a.setup.Redactor()
	}
	return redact.FromEnv(a.environ, nil)
}

// redacted is a text without secrets.
func (a *app) redacted(text string) string { return a.redactor().String(text) }
