package setup

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"rouse/agent"
	"rouse/agent/check"
	"rouse/agent/inbox"
	"rouse/agent/pause"
	"rouse/home"
	"rouse/internal/disk"
)

// TaskOf is a task as somebody words it, with its checks as `rouse run --check` takes them.
// The error is theirs to mend.
func (s *Setup) TaskOf(said string, checks []string, by string) (item inbox.Item, err error) {
	item = inbox.Item{Task: s.Hidden().String(strings.TrimSpace(said)), At: s.Now(), By: by}
	switch {
	case item.Task == "":
		return item, errors.New("the task is empty")
	case !utf8.ValidString(item.Task):
		return item, errors.New("the task is not UTF-8")
	case len(item.Task) > inbox.MaxTask:
		return item, fmt.Errorf("the task has %d bytes, the limit is %d: put the text into a file of the workspace, and name that", len(item.Task), inbox.MaxTask)
	}
	for _, said := range checks {
		c, err := check.Read(said)
		if err != nil {
			return item, fmt.Errorf("--%w", err)
		}
		item.Check = append(item.Check, c)
	}
	return item, nil
}

// Tell leaves a task in the inbox, for the cycle that is awake or the next one.
func (s *Setup) Tell(item inbox.Item) error {
	if err := s.Home.Wakes(); err != nil {
		return err
	}
	_, err := inbox.Put(disk.OS{}, s.Home.Inbox(), item)
	return err
}

// Pause stops a home and ends what a killed cycle left running. Where it was stopped
// already it gives why.
func Pause(h home.Home, reason string) (already string, ended []agent.Leftover, err error) {
	made, err := pause.Pause(disk.OS{}, h.Stop(), reason)
	if err != nil {
		return "", nil, err
	}
	if !made {
		already, _ = pause.Paused(h.Stop())
	}
	if _, err := home.Open(h.Dir); err != nil {
		return already, nil, nil // its journals are of another version
	}
	ended, err = agent.Reap(h)
	if errors.Is(err, home.ErrAwake) {
		return already, nil, nil // it ends what it started itself
	}
	return already, ended, err
}
