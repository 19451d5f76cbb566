package config

import (
	"fmt"
	"time"

	"rouse/agent/notify"
	"rouse/agent/schedule"
)

// Waking says when a home wakes by itself.
type Waking struct {
	Schedule schedule.List `yaml:"schedule"`
	// Watch are files and folders, relative to the home, whose change wakes it
	// under `rouse schedule` and in a fleet.
	Watch []string `yaml:"watch"`
}

func (w Waking) check(sinks []notify.Sink) error {
	for _, e := range w.Schedule {
		if _, err := notify.Reach(sinks, e.Deliver.To); err != nil {
			return fmt.Errorf("schedule: deliver: %w", err)
		}
	}
	for i, path := range w.Watch {
		if path == "" {
			return fmt.Errorf("watch[%d] is empty; name a file or a folder", i)
		}
	}
	return nil
}

// NextWake bounds how long after its sleep a cycle may ask to be woken; a Max of
// 0 allows it not at all.
type NextWake struct {
	Min Duration `yaml:"min"`
	Max Duration `yaml:"max"`
}

func (w NextWake) meant() bool {
	const year = Duration(366 * 24 * time.Hour)
	return w.Max == 0 || w.Min >= Duration(time.Second) && w.Min <= w.Max && w.Max <= year
}
