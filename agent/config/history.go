package config

import (
	"errors"
	"fmt"
	"path/filepath"
)

// History configures the versions of the workspace.
type History struct {
	// Workspace is on, off or auto: on for the home's own, off for a folder that
	// somebody named.
	Workspace string `yaml:"workspace"`
	MaxFile   Size   `yaml:"max_file"`  // larger ones are listed and not kept
	MaxBytes  Size   `yaml:"max_bytes"` // of all versions
}

// On says whether versions are kept.
func (h History) On(workspace string) bool {
	return h.Workspace == "on" || h.Workspace == "auto" && filepath.Clean(workspace) == Default().Workspace
}

func (h History) check() error {
	switch {
	case !oneOf(h.Workspace, "auto", "on", "off"):
		return fmt.Errorf("history.workspace %q: use auto, on or off", h.Workspace)
	case h.MaxFile <= 0:
		return errors.New("history.max_file must be above 0; history: {workspace: off} keeps nothing")
	case h.MaxBytes < 1<<20:
		return errors.New("history.max_bytes must be at least 1MiB")
	}
	return nil
}
