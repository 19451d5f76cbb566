package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"rouse/internal/disk"
	"rouse/internal/lazy"
	"rouse/internal/proc"
)

const requirementsName = "requirements.txt"

// uvNames are the names that uv has for what a user told pip by the environment.
var uvNames = [...][2]string{
	{"PIP_INDEX_URL", "UV_DEFAULT_INDEX"},
	{"PIP_EXTRA_INDEX_URL", "UV_INDEX"},
	{"PIP_FIND_LINKS", "UV_FIND_LINKS"},
	{"PIP_NO_INDEX", "UV_NO_INDEX"},
}

// InstallEnviron gives the settings of pip and uv in environ, a list like that
// of [os.Environ]. What pip was told about indexes is told to uv as well, unless
// uv was told otherwise. It may hold credentials of an index: cells never get it.
func InstallEnviron(environ []string) []string {
	var kept []string
	for _, e := range environ {
		if strings.HasPrefix(e, "PIP_") || strings.HasPrefix(e, "UV_") {
			kept = append(kept, e)
		}
	}
	for _, n := range uvNames {
		if value := proc.Lookup(environ, n[0]); value != "" && proc.Lookup(environ, n[1]) == "" {
			kept = append(kept, n[1]+"="+value)
		}
	}
	return kept
}

// install installs packages and records them.
func (r *Runtime) install(ctx context.Context, packages []string, log io.Writer) error {
	if len(packages) == 0 {
		return errors.New("install: no packages named")
	}
	for _, p := range packages {
		if err := checkPackage(p); err != nil {
			return err
		}
	}
	r.installing.Lock()
	defer r.installing.Unlock()
	if err := r.installer(ctx, packages, log); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, " "), err)
	}
	return r.recordPackages(packages)
}

func (r *Runtime) installer(ctx context.Context, packages []string, log io.Writer) error {
	argv := []string{r.interpreter(), "-m", "pip", "install"}
	if uv := r.uv(); uv != "" {
		argv = []string{uv, "pip", "install", "--python", r.interpreter()}
	}
	c := proc.Command{Argv: append(append(argv, "--"), packages...), Timeout: r.c.InstallTimeout, Env: r.c.InstallEnv, Stdout: log}
	_, err := r.command(ctx, c)
	return err
}

// checkPackage refuses what an installer would take for an option, and what
// would not be one line of the record.
func checkPackage(p string) error {
	if p == "" || p[0] == '-' || p[0] == '#' || strings.TrimSpace(p) != p || strings.ContainsFunc(p, unicode.IsControl) {
		return fmt.Errorf("install %.100q: name a package as for pip, without options", p)
	}
	return nil
}

// recordPackages adds packages to the record; one that is in it already is
// replaced.
func (r *Runtime) recordPackages(packages []string) error {
	lines, err := r.recordedPackages()
	if err != nil {
		return err
	}
	for _, p := range packages {
		kept := lines[:0]
		for _, l := range lines {
			if packageKey(l) != packageKey(p) {
				kept = append(kept, l)
			}
		}
		lines = append(kept, p)
	}
	text := strings.Join(lines, "\n") + "\n"
	if err := disk.Replace(r.c.FS, r.path(requirementsName), []byte(text), 0o600); err != nil {
		return fmt.Errorf("record packages: %w", err)
	}
	return nil
}

// recordedPackages reads the record, which a person may have edited.
func (r *Runtime) recordedPackages() ([]string, error) {
	b, err := os.ReadFile(r.path(requirementsName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("record of packages: %w", err)
	}
	var lines []string
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

var distribution = lazy.Regexp{Expr: `^[A-Za-z0-9][A-Za-z0-9._-]*`}

// packageKey is what two requirements of the same package share; see PEP 503.
func packageKey(requirement string) string {
	name := distribution.Get().FindString(requirement)
	if name == "" || strings.ContainsAny(requirement, "/\\") {
		return requirement
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c == '-' || c == '_' || c == '.' }), "-")
}

// restorePackages installs what is recorded into a new environment: all at
// once, or else one by one. What fails is told to the next cell and stays
// recorded.
func (r *Runtime) restorePackages(ctx context.Context) error {
	lines, err := r.recordedPackages()
	if err != nil || len(lines) == 0 {
		return err
	}
	var good, bad []string
	for _, l := range lines {
		if err := checkPackage(l); err != nil {
			bad = append(bad, err.Error())
			continue
		}
		good = append(good, l)
	}
	if len(good) > 0 && r.installer(ctx, good, io.Discard) != nil {
		for _, p := range good {
			if err := r.installer(ctx, []string{p}, io.Discard); err != nil {
				bad = append(bad, fmt.Sprintf("%s: %.300s", p, err))
			}
		}
	}
	r.notes = append(r.notes, fmt.Sprintf("the environment was made anew; %d of %d recorded packages are installed", len(lines)-len(bad), len(lines)))
	for _, b := range bad {
		r.notes = append(r.notes, "not installed: "+b)
	}
	return ctx.Err()
}
