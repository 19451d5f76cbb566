package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// Agent is an agent that runs the cycle again, in an empty home of its own.
func (p *Past) Agent(h home.Home) (*Agent, error) {
	before, err := os.ReadFile(p.Before())
	if err == nil {
		err = h.MakeFolders(disk.Unsynced{})
	}
	if err == nil {
		err = errors.Join(os.WriteFile(h.Active(), before, 0o600), os.WriteFile(h.Rules(), []byte(p.dialogue.rules), 0o600))
	}
	if err != nil {
		return nil, err
	}
	a := &Agent{Keeper: Keeper{Home: h, Disk: disk.Unsynced{}, Now: func() time.Time { return p.now }, Watch: p.watch}, Asking: p.asking, Past: p}
	a.Model, a.MaxIterations = p, max(a.MaxIterations, 1)
	a.Timeout = time.Hour // that the cycle had is in its requests
	var own []tools.Tool
	for _, t := range ownTools(p.offered) {
		if !dispatcher.OnShelf(t.Name) {
			own = append(own, t)
		}
	}
	if a.Tools, err = tools.NewSet(own...); err != nil {
		return nil, err
	}
	a.NotesMax, a.CompletedMax, a.Locked = p.number("cycle.notes_max"), p.number("cycle.completed_max"), nil
	_ = json.Unmarshal([]byte(p.held["cycle.locked"]), &a.Locked) // none
	a.Consent.Marks, a.Consent.Locks = Marking(strings.Trim(p.held["posture"], `"`))
	a.Waking.Min, _ = time.ParseDuration(p.held["cycle.next_wake.min"])
	a.Waking.Max, _ = time.ParseDuration(p.held["cycle.next_wake.max"])
	a.Boxes = []OpenBox{func(context.Context, Host) Box { return Box{Problems: p.problems(), From: p.of(0).From} }}
	return a, p.given(a)
}

func (p *Past) number(key string) (n int) {
	_ = json.Unmarshal([]byte(p.held[key]), &n) // none
	return n
}

// problems are what the model was told of the tools that it did not have.
func (p *Past) problems() (list []string) {
	for _, e := range p.events {
		if d, ok := e.Data.(*journal.Warning); ok && d.Shown {
			list = append(list, d.Text)
		}
	}
	return list
}

// given gives an agent the task that the cycle was given.
func (p *Past) given(a *Agent) error {
	if t := p.terms; t.Task != "" || t.Checks != nil {
		a.Task, a.Waking.Attempt, a.Checks.Task = t.Task, t.Attempt, t.Checks
		return nil
	}
	return p.guess(a)
}

// guess finds out which task the cycle was given from what it did first: older journals
// do not say.
func (p *Past) guess(a *Agent) error {
	s, busy := p.base.Clone(), false
	for _, e := range p.events {
		d, ok := e.Data.(*journal.State)
		switch _, made := e.Data.(*journal.Made); {
		case made || asks(e):
			return nil
		case !ok || len(d.Changes) == 0:
			continue
		}
		first := d.Changes[0]
		busy = scratchpad.TaskText(s.CurrentTask()) != ""
		task, text := first.Value.(string)
		if list, ok := first.Value.([]any); ok && first.Op == scratchpad.OpExtend && len(list) == 1 {
			a.Task, _ = list[0].(string)
			a.Waking.Attempt = 1
		} else if text && first.Key == "current_task" && (busy || len(d.Changes) == 1) {
			a.Task = task
		}
		if err := s.Apply(d.Changes...); err != nil {
			return err
		}
	}
	return nil
}
