package config

import (
	"errors"
	"fmt"
	"slices"
)

// Origins are files and folders of which the operator says what they hold: text from
// outside, or what is private.
type Origins struct {
	Outside List `yaml:"outside"`
	Private List `yaml:"private"`
}

func (c *Config) checkOrigins() error {
	for i, path := range slices.Concat(c.Origins.Outside, c.Origins.Private) {
		if err := c.CheckPath(path); err != nil {
			return fmt.Errorf("origins: entry %d %w", i+1, err)
		}
		if c.Posture == NoPosture {
			return errors.New("origins: holds only beside a posture; add the line posture: careful")
		}
	}
	for i, path := range c.Skills {
		if err := c.CheckPath(path); err != nil {
			return fmt.Errorf("skills[%d] %w", i, err)
		}
	}
	return nil
}
