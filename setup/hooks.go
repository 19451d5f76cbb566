package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/check"
	"rouse/agent/hook"
	"rouse/agent/inbox"
	"rouse/internal/disk"
	"rouse/scratchpad"
)

// Received is what became of what a hook received. Its JSON is that of GET /hooks/NAME/ID.
type Received struct {
	ID   string    `json:"id"`
	Hook string    `json:"hook"`
	At   time.Time `json:"at"`
	Task string    `json:"task"`
	// State is "waiting", until a cycle takes the task in, then pending, current or completed
	// as the memory has it, or gone.
	State string `json:"state,omitempty"`
	// Subject is that of what it makes, Cycle took it in, and Verdict is the word on that cycle's task.
	Subject string `json:"subject,omitempty"`
	Cycle   string `json:"cycle,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// ErrOften says that a hook has had its tasks of an hour.
var ErrOften = errors.New("too many tasks in an hour: see per_hour of the hook")

// perHour is how many tasks a hook that says nothing takes.
const perHour = 60

// hookOf is the one with a name, and its secret.
func (s *Setup) hookOf(name string) (hook.Spec, string, error) {
	i := slices.IndexFunc(s.Config.Hooks, func(h hook.Spec) bool { return h.Name == name })
	if i < 0 {
		return hook.Spec{}, "", fmt.Errorf("there is no hook %.80q: %w", name, fs.ErrNotExist)
	}
	return s.Config.Hooks[i], s.Getenv(s.Config.Hooks[i].SecretEnv), nil
}

// Receive takes what was sent to a hook for a task, once however often it is sent, and
// says whether a cycle is to begin now.
func (s *Setup) Receive(name string, h http.Header, body []byte) (r Received, now bool, err error) {
	spec, secret, err := s.hookOf(name)
	if err == nil {
		err = spec.Verify(secret, h, body, s.Now())
	}
	if err != nil {
		return r, false, err
	}
	r = Received{ID: spec.ID(secret, h, body), Hook: name, At: s.Now()}
	unlock, err := s.lockReceived()
	if err != nil {
		return r, false, err
	}
	defer unlock()
	if had, err := s.Became(name, r.ID); err == nil && had.State != lost {
		return had, false, nil
	}
	if r.Task, r.Subject, err = spec.Task(h.Get("Content-Type"), body); err != nil {
		return r, false, err
	}
	item, err := s.TaskOf(r.Task, nil, "hook "+name)
	if err != nil {
		return r, false, err
	}
	r.Task, item.ID, item.Check, item.Origin = item.Task, r.ID, check.Items(spec.Check), "hook "+name
	if err := s.note(spec, r); err != nil {
		return r, false, err
	}
	r.State = Waits
	return r, spec.Wake != "slot", s.Tell(item)
}

// lockReceived lets one process at a time look whether something was received, and note it.
func (s *Setup) lockReceived() (unlock func(), err error) {
	dir := s.Home.Received()
	if err = os.MkdirAll(dir, 0o700); err == nil {
		unlock, err = disk.LockFolder(context.Background(), dir, 5*time.Second)
	}
	if err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	return unlock, nil
}

// The states of what was received, beside those of the memory's keys.
const (
	Waits = "waiting"
	gone  = "gone"
	lost  = "lost" // noted, but never left in the inbox: whoever received it died
)

// note keeps that something was received, before it is a task, and forgets what is old.
func (s *Setup) note(spec hook.Spec, r Received) error {
	dir, recent := s.Home.Received(), 0
	files, err := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		switch {
		case err != nil:
		case r.At.Sub(info.ModTime()) > time.Duration(s.Config.Retention.Keep):
			_ = os.Remove(filepath.Join(dir, f.Name())) // the next one tries again
		case strings.HasPrefix(f.Name(), spec.Name+".") && r.At.Sub(info.ModTime()) < time.Hour:
			recent++
		}
	}
	if err == nil && recent >= cmp.Or(spec.PerHour, perHour) {
		err = ErrOften
	}
	if err != nil {
		return fmt.Errorf("hook %s: %w", spec.Name, err)
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = disk.Replace(disk.OS{}, s.received(r.Hook, r.ID), text, 0o600)
	}
	return err
}

func (s *Setup) received(name, id string) string {
	return filepath.Join(s.Home.Received(), name+"."+id+".json")
}

// Became says what became of what a hook received.
func (s *Setup) Became(name, id string) (r Received, err error) {
	if name != filepath.Base(name) || id != filepath.Base(id) {
		return r, fs.ErrNotExist
	}
	text, err := disk.ReadSmall(s.received(name, id), 2*inbox.MaxTask)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("hook %.80s: %w", name, err)
	}
	if waits, err := inbox.Has(s.Home.Inbox(), id); waits || err != nil {
		r.State = Waits
		return r, err
	}
	r.Cycle, err = agent.Took(s.Home, id, r.At)
	if r.State = lost; err != nil || r.Cycle == "" {
		return r, err
	}
	r.Verdict = agent.VerdictOf(s.Home, r.Cycle)
	m, _, err := s.Home.Load()
	if err == nil {
		r.State = standing(m, r.Task)
	}
	return r, err
}

// standing says where a memory has a task.
func standing(m *scratchpad.State, task string) string {
	is := func(t any) bool { return scratchpad.TaskText(t) == task }
	switch {
	case is(m.CurrentTask()):
		return "current"
	case slices.ContainsFunc(m.Pending(), is):
		return "pending"
	case slices.ContainsFunc(m.Completed(), is):
		return "completed"
	}
	return gone
}

// hookResults are what the tasks of hooks make that is delivered. Of two with one task the
// later counts.
func (s *Setup) hookResults() (list []agent.Result) {
	for _, h := range s.Config.Hooks {
		if h.Deliver.File == "" {
			continue
		}
		notes, _ := os.ReadDir(s.Home.Received()) // none where nothing came yet
		of := map[string]Received{}
		for _, note := range notes {
			if !strings.HasPrefix(note.Name(), h.Name+".") {
				continue
			}
			var r Received
			text, err := disk.ReadSmall(filepath.Join(s.Home.Received(), note.Name()), 2*inbox.MaxTask)
			if err == nil && json.Unmarshal(text, &r) == nil && r.At.After(of[r.Task].At) {
				of[r.Task] = r
			}
		}
		for task, r := range of {
			list = append(list, agent.Result{Task: task, File: h.Deliver.File, To: h.Deliver.To, Subject: r.Subject})
		}
	}
	return list
}
