package config

import (
	"errors"

	"rouse/agent/schedule"
)

// Waking says when a home wakes by itself.
type Waking struct {
	Schedule schedule.List `yaml:"schedule"`
	// Watch are files and folders, relative to the home, whose change wakes it
	// under `rouse schedule`.
	Watch []string `yaml:"watch"`
}

func (w Waking) check() error {
	for _, path := range w.Watch {
		if path == "" {
			return errors.New("watch: an entry is empty; name files or folders")
		}
	}
	return nil
}
