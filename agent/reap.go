package agent

import (
	"fmt"
	"slices"

	"rouse/home"
	"rouse/internal/proc"
)

// Leftover is a process that a killed cycle left running. Its JSON is that of
// `rouse reap`.
type Leftover struct {
	Cycle string `json:"cycle"`
	PID   int    `json:"pid"`
	Name  string `json:"name"`
}

// Leftovers are the processes that the newest cycle left, if it was killed.
func Leftovers(h home.Home) (list []Leftover, err error) {
	err = eachLeft(h, func(id string, t trace) error {
		for _, pid := range proc.Leftovers(t.mark, t.started, t.owner) {
			list = append(list, Leftover{id, pid, proc.Name(pid)})
		}
		return nil
	})
	return list, err
}

// Reap ends them, and says which. It settles nothing: the next wake does. It fails
// with [home.ErrAwake] while somebody holds the home.
func Reap(h home.Home) (ended []Leftover, err error) {
	if list, err := Leftovers(h); len(list) == 0 {
		return nil, err
	}
	unlock, err := h.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := Leftovers(h)
	if err != nil {
		return nil, err
	}
	err = eachLeft(h, func(_ string, t trace) error {
		_, err := proc.EndLeftovers(t.mark, t.started, t.owner)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reap: %w", err)
	}
	return list, nil
}

// eachLeft is given the newest cycle, if it was killed and nobody has settled it.
func eachLeft(h home.Home, do func(id string, t trace) error) error {
	list, err := Summaries(h, 1)
	if err != nil || !slices.ContainsFunc(list, func(s Summary) bool { return s.Outcome == Interrupted }) {
		return err
	}
	key, err := h.Key()
	if err != nil {
		return err
	}
	t, err := (&Keeper{Home: h}).readTrace(list[0].Cycle, key)
	if err != nil {
		return err
	}
	return do(list[0].Cycle, t)
}
