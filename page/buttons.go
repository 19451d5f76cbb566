package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/pause"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/setup"
)

// actions are what the buttons of a home show.
type actions struct {
	Home, Paused string // why, if it is
	Awake        bool
	Rests        string   // until when, after failures
	Undo         bool     // there is a rewind to undo
	Cycles       []string // the newest
}

// Actions are the buttons of the home that is shown; nil for those who may only look.
func (f frame) Actions() *actions {
	if f.visit == nil || f.visit.home == nil || f.Role != Act {
		return nil
	}
	h := f.visit.home.Home
	a := &actions{Home: f.Home, Awake: h.Elsewhere || disk.Holder(h.Memory()) != 0}
	if why, ok := pause.Paused(h.Stop()); ok {
		a.Paused = f.visit.hide(why)
	}
	a.Cycles, _ = h.Cycles(20) // none is shown where none can be read
	list, _ := agent.Summaries(h, 20)
	a.Undo = slices.ContainsFunc(list, func(c agent.Summary) bool { return c.Rewound != "" })
	a.Rests = f.visit.home.Resting()
	return a
}

// by is in whose name something is done.
func (v *visit) by() string { return fmt.Sprintf("page %s as %s", v.who.id, v.home.User()) }

// typed is a text of a form, whose line breaks browsers send as DOS had them.
func (v *visit) typed(name string) string {
	return strings.ReplaceAll(v.PostFormValue(name), "\r\n", "\n")
}

// told is the answer to a button of the home.
func (v *visit) told(format string, args ...any) (sheet, error) {
	return sheet{to: v.path(), said: fmt.Sprintf(format, args...)}, nil
}

// tell gives the agent a task.
func (v *visit) tell() (sheet, error) {
	checks := strings.FieldsFunc(v.typed("check"), func(r rune) bool { return r == '\n' })
	item, err := v.home.TaskOf(v.typed("task"), checks, v.by())
	if err != nil {
		return sheet{}, wrong{http.StatusBadRequest, err}
	}
	if err := v.home.Tell(item); err != nil {
		return sheet{}, err
	}
	said := "told: " + text.Line(item.Task, 200)
	if v.PostFormValue("now") == "" || disk.Holder(v.home.Home.Memory()) != 0 {
		return v.told("%s; it is taken in by the cycle that is awake, or the next one", said)
	}
	a, err := v.run()
	a.said = said + "; " + a.said
	return a, err
}

// run starts a cycle, which goes on without the page.
func (v *visit) run() (sheet, error) {
	if why, paused := pause.Paused(v.home.Home.Stop()); paused {
		return sheet{}, wrong{http.StatusConflict, fmt.Errorf("the home is paused (%s): resume it first", why)}
	}
	before, _ := v.home.Home.Newest()
	begun, stop := context.WithTimeout(v.Context(), 3*time.Second)
	defer stop()
	if err := v.home.RunApart(v.Program, func(said string) { stop(); v.Say(v.name + ": " + said) }); err != nil {
		return sheet{}, err
	}
	for clock.Pause(begun, 20*time.Millisecond) { // mostly it is there in a moment
		if newest, err := v.home.Home.Newest(); err == nil && newest != before {
			return sheet{to: v.path("cycles", newest), said: "a cycle was started: this is it"}, nil
		}
	}
	return v.told("a cycle was started; it has not begun to write its log, and what it prints is in logs/due.log")
}

// pause stops the home.
func (v *visit) pause() (sheet, error) {
	reason := cmp.Or(strings.TrimSpace(v.typed("reason")), "paused on the page at "+v.Now().Format("2006-01-02 15:04"))
	already, _, err := setup.Pause(v.home.Home, v.home.Hidden().String(reason))
	if err == nil && already != "" {
		err = wrong{http.StatusConflict, errors.New("paused already: " + already)}
	}
	if err != nil {
		return sheet{}, err
	}
	return v.told("paused: no cycle starts, and one that is awake ends before its next step")
}

// resume ends the pause, and a rest after failures.
func (v *visit) resume() (sheet, error) {
	over, err := setup.Resume(v.home.Home, v.home.Process)
	switch {
	case err != nil:
		return sheet{}, err
	case len(over) == 0:
		return v.told("the home was not paused, and does not rest after failures")
	}
	is := "is"
	if len(over) > 1 {
		is = "are"
	}
	return v.told("%s %s over: cycles start again", strings.Join(over, " and "), is)
}
