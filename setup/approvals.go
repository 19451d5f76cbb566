package setup

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"rouse/agent/approval"
	"rouse/internal/disk"
	"rouse/internal/text"
)

// Approvals has the calls that wait for a person.
func (s *Setup) Approvals() *approval.File {
	return &approval.File{Path: s.Home.Approvals(), Lock: s.Home.ApprovalsLock(), Now: s.Now, Expire: time.Duration(s.Config.Approvals.Expire)}
}

// asked is where the calls of cycles wait, nil where none does.
func (s *Setup) asked() *approval.File {
	if !disk.Exists(s.Home.Approvals()) {
		return nil
	}
	ag, err := s.Agent()
	if err != nil {
		return nil
	}
	return ag.Approvals
}

// Approval is a call with how it stands. Its JSON is that of `rouse approvals`.
type Approval struct {
	approval.Entry
	State string `json:"state"`
}

// ApprovalsOf are all calls that were asked about, those that are open first, then the
// newest first.
func (s *Setup) ApprovalsOf(ids ...string) (list []Approval, err error) {
	all, err := s.Approvals().All()
	if err != nil {
		return nil, err
	}
	var ended []Approval
	for _, e := range all {
		if one := (Approval{*e, e.State(s.Now())}); one.State == approval.Open {
			list = append(list, one)
		} else {
			ended = append([]Approval{one}, ended...)
		}
	}
	list = append(list, ended...)
	if len(ids) == 0 {
		return list, nil
	}
	var found []Approval
	for _, id := range ids {
		e, err := approval.Find(all, id)
		if err != nil {
			return nil, err
		}
		found = append(found, Approval{*e, e.State(s.Now())})
	}
	return found, nil
}

// Answer answers calls in the name of who runs this process. What cannot be answered keeps
// none of the others from it.
func (s *Setup) Answer(ids []string, decision, why string) (list []Approval, err error) {
	for _, id := range ids {
		e, failed := s.Approvals().Answer(context.Background(), id, decision, User(), s.Hidden().String(why))
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		list = append(list, Approval{e, e.State(s.Now())})
	}
	return list, err
}

// User is who runs this process.
func User() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}

// unanswered says that calls wait for an answer.
func (s *Setup) unanswered() error {
	if !disk.Exists(s.Home.Approvals()) {
		return nil
	}
	list, err := s.ApprovalsOf()
	n := 0
	for _, a := range list {
		if a.State == approval.Open {
			n++
		}
	}
	if err != nil || n == 0 {
		return err
	}
	return fmt.Errorf("%s for a yes, the oldest since %s: rouse approvals", waits(n), Clock(list[0].Asked))
}

func waits(n int) string {
	if n == 1 {
		return "1 call waits"
	}
	return text.Count(n, "call") + " wait"
}
