package setup

import (
	"context"
	"encoding/hex"
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
	// Why a worker of a fleet refused it.
	Why string `json:"why,omitempty"`
}

// ErrOften says that a hook has had its tasks of an hour.
var ErrOften = errors.New("too many tasks in an hour: see per_hour of the hook")

// HookOf is the hook with a name, or [fs.ErrNotExist].
func (s *Setup) HookOf(name string) (hook.Spec, error) {
	i := slices.IndexFunc(s.Config.Hooks, func(h hook.Spec) bool { return h.Name == name })
	if i < 0 {
		return hook.Spec{}, fmt.Errorf("there is no hook %.80q: %w", name, fs.ErrNotExist)
	}
	return s.Config.Hooks[i], nil
}

// Receive takes what was sent to a hook for a task, once however often it is sent, and
// says whether a cycle is to begin now.
func (s *Setup) Receive(name string, h http.Header, body []byte) (r Received, now bool, err error) {
	spec, err := s.HookOf(name)
	if err == nil {
		r, err = s.Prove(spec, s.Getenv(spec.SecretEnv), h, body)
	}
	if err != nil || r.State != "" {
		return r, false, err
	}
	return s.Take(r, spec.Hourly())
}

// Prove is what the door of a hook does: it proves what was sent, and words the task. Of what
// was received before it says what became of that.
func (s *Setup) Prove(spec hook.Spec, secret string, h http.Header, body []byte) (r Received, err error) {
	if err := spec.Verify(secret, h, body, s.Now()); err != nil {
		return r, err
	}
	r = Received{ID: spec.ID(secret, h, body), Hook: spec.Name, At: s.Now()}
	if had, err := s.Became(spec.Name, r.ID); err == nil && had.State != Lost {
		return had, nil
	}
	s.Hide(map[string]string{spec.SecretEnv: secret})
	if r.Task, r.Subject, err = spec.Task(h.Get("Content-Type"), body); err != nil {
		return r, err
	}
	item, err := s.TaskOf(r.Task, nil, "")
	r.Task = item.Task
	return r, err
}

// Take makes a task of what was proven, unless it is one already or most are taken in an
// hour, where most is above 0. It says whether a cycle is to begin now.
func (s *Setup) Take(r Received, most int) (_ Received, now bool, err error) {
	spec, err := s.HookOf(r.Hook)
	if _, odd := hex.DecodeString(r.ID); err == nil && odd != nil {
		err = fmt.Errorf("hook %s: the id: %w", r.Hook, odd) // which names a file
	}
	if err != nil {
		return r, false, err
	}
	unlock, err := s.lockReceived()
	if err != nil {
		return r, false, err
	}
	defer unlock()
	if had, err := s.Became(r.Hook, r.ID); err == nil && had.State != Lost {
		return had, false, nil
	}
	item, err := s.TaskOf(r.Task, nil, "hook "+r.Hook)
	if err != nil {
		return r, false, err
	}
	r.Task, item.ID, item.Check, item.Origin = item.Task, r.ID, check.Items(spec.Check), "hook "+r.Hook
	if err := s.note(r, most); err != nil {
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
	Waits   = "waiting"
	Refused = "refused" // by a worker of a fleet, which says why
	gone    = "gone"
	Lost    = "lost" // noted, but never left in the inbox: whoever received it died
)

// note keeps that something was received, before it is a task, and forgets what is old.
func (s *Setup) note(r Received, most int) error {
	dir, recent := s.Home.Received(), 0
	files, err := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		switch {
		case err != nil:
		case r.At.Sub(info.ModTime()) > time.Duration(s.Config.Retention.Keep):
			_ = os.Remove(filepath.Join(dir, f.Name())) // the next one tries again
		case strings.HasPrefix(f.Name(), r.Hook+".") && r.At.Sub(info.ModTime()) < time.Hour:
			recent++
		}
	}
	if err == nil && most > 0 && recent >= most {
		err = ErrOften
	}
	if err != nil {
		return fmt.Errorf("hook %s: %w", r.Hook, err)
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
	text, err := disk.ReadSmall(s.received(name, id), inbox.MaxFile)
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
	if r.State = Lost; err != nil || r.Cycle == "" {
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
			text, err := disk.ReadSmall(filepath.Join(s.Home.Received(), note.Name()), inbox.MaxFile)
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
