package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"rouse"
	"rouse/home"
	"rouse/internal/disk"
)

func (a *app) newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a home for an agent",
		Long: `Make a home in DIR (default: $ROUSE_HOME, else the current folder): rules.md, rouse.yaml, scratchpad with a
first task, logs, bin, closed to other users of the machine. What is there already is left as it is.

Exit codes: 0 done, 1 a file could not be written, 2 usage.`,
		Example: "  rouse init my-agent",
		Args:    strict(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.init(strings.Join(args, ""))
		},
	}
}

func (a *app) init(dir string) error {
	dir = cmp.Or(dir, a.home, a.getenv("ROUSE_HOME"), ".")
	if _, err := (home.Home{Dir: dir}).Version(); errors.As(err, new(*home.StateError)) {
		return err
	}
	made, err := writeTemplate(dir)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if len(made) == 0 {
		fmt.Fprintf(a.stdout, "%s is a home already; nothing was changed\n", dir)
		return nil
	}
	fmt.Fprintf(a.stdout, "made %s: %s\nnext: cd %s && rouse run\n", dir, strings.Join(made, ", "), quoted(dir))
	return nil
}

// quoted is a path as a shell wants it.
func quoted(path string) string {
	if regexp.MustCompile(`^[\w./~-]+$`).MatchString(path) && path[0] != '-' {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// writeTemplate writes the files of a new home that are not there yet.
func writeTemplate(dir string) (made []string, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, err
		}
	}
	out := disk.OS{}
	err = fs.WalkDir(rouse.Template, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := rouse.Template.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := out.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		err = disk.Create(out, path, data, mode(name))
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		made = append(made, name)
		return err
	})
	if err != nil {
		return made, err
	}
	return made, os.MkdirAll(home.Home{Dir: dir}.Logs(), 0o700)
}

func mode(name string) fs.FileMode {
	switch filepath.Ext(name) {
	case ".sh":
		return 0o700
	case ".yaml":
		return 0o600
	}
	return 0o600
}
