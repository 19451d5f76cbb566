package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rouse/agent/approval"
	"rouse/dispatcher"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/journal"
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
	*approval.Entry
	State string `json:"state"`
}

// Asked are the calls that were asked about, with these ids or else all: those that are open
// first, then the newest first.
func (s *Setup) Asked(ids ...string) (list []Approval, err error) {
	all, err := s.Approvals().Load()
	if err != nil {
		return nil, err
	}
	show := func(e *approval.Entry) Approval { return Approval{e, e.State(s.Now())} }
	for _, id := range ids {
		e, err := all.Find(id)
		if err != nil {
			return nil, err
		}
		list = append(list, show(e))
	}
	open := 0
	for _, e := range all.Entries {
		if len(ids) > 0 {
			break
		}
		if list = slices.Insert(list, open, show(e)); list[open].State == approval.Open {
			open++
		}
	}
	return list, nil
}

// Answer answers calls in the name of who runs this process. What cannot be answered keeps
// none of the others from it.
func (s *Setup) Answer(ids []string, decision, why string) (list []Approval, err error) {
	if err := s.Answers(); err != nil {
		return nil, err // once, not for each
	}
	for _, id := range ids {
		e, failed := s.Reply(id, approval.Reply{Decision: decision, By: s.User(), Why: why})
		if err = errors.Join(err, failed); failed == nil {
			list = append(list, e)
		}
	}
	return list, err
}

// Reply answers one call in somebody's name.
func (s *Setup) Reply(id string, r approval.Reply) (Approval, error) {
	if err := s.Answers(); err != nil {
		return Approval{}, err
	}
	r.Why = s.Hidden().String(r.Why)
	e, err := s.Approvals().Reply(id, r)
	if err != nil {
		return Approval{}, err
	}
	return Approval{e, e.State(s.Now())}, nil
}

// User is in whose name this process acts: who runs it, unless it was ordered in a fleet.
func (p Process) User() string {
	if by := p.Getenv(ByVariable); by != "" {
		return text.Line(by, 100) + " via fleet"
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}

// Unanswered says that calls wait for an answer.
func (s *Setup) Unanswered() error {
	list, err := s.Asked()
	n := 0
	for n < len(list) && list[n].State == approval.Open {
		n++
	}
	if err != nil || n == 0 {
		return err
	}
	return fmt.Errorf("%s for a yes, the oldest since %s: rouse approvals", map[bool]string{true: "a call waits", false: fmt.Sprintf("%d calls wait", n)}[n == 1], Clock(list[0].Asked))
}

// AnswerAt asks who sits at a terminal about a call. What is neither yes nor no is left for
// later, as where nobody answers before ctx ends, or for a while.
func (s *Setup) AnswerAt(ctx context.Context, in *os.File, out io.Writer) func(dispatcher.Asked) journal.Approval {
	hide := s.Hidden()
	return func(asked dispatcher.Asked) (said journal.Approval) {
		for line, err := typed(in, 0); line != "" && err == nil; line, err = typed(in, 0) {
			continue // it was typed before the question, and answers another
		}
		fmt.Fprintf(out, "\nstep %d wants to call %s\n%s\n%s: %s\nCarry it out? y or n, and why; anything else leaves it for later: ",
			asked.Step, text.Line(asked.Call.Tool, 64), text.Block(hide.String(string(asked.Call.Args))), text.Line(asked.Decision.Rule, 80), text.Line(asked.Decision.Why, 300))
		line, err := "", error(nil)
		for end := time.Now().Add(answerIn); line == "" && err == nil && ctx.Err() == nil && time.Now().Before(end); {
			line, err = typed(in, time.Second)
		}
		word, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch said.Why = hide.String(strings.TrimSpace(why)); strings.ToLower(word) {
		case "y", "yes":
			said.Decision, said.By = approval.Approve, s.User()
		case "n", "no":
			said.Decision, said.By = approval.Denied, s.User()
		}
		return said
	}
}

// answerIn is how long a question waits for its answer.
const answerIn = 5 * time.Minute

// typed is the line that is typed next at a terminal, "" where there is none in time.
func typed(in *os.File, wait time.Duration) (line string, err error) {
	ready, buf := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}, make([]byte, 4096)
	if n, err := unix.Poll(ready, int(wait.Milliseconds())); n < 1 || err != nil {
		return "", nil // a signal is in ctx
	}
	n, err := in.Read(buf)
	return string(buf[:n]), err
}
