package agent

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"rouse/agent/budget"
	"rouse/agent/model"
	"rouse/agent/notify"
	"rouse/agent/retention"
	"rouse/agent/trust"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/journal"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// Model answers a request with the next action.
type Model interface {
	Reply(context.Context, model.Request) (model.Reply, error)
}

// Agent runs cycles in a home. Its fields are set once and not changed after.
type Agent struct {
	Home   home.Home
	Model  Model
	Tools  *tools.Set
	Boxes  []OpenBox        // of further tools
	Redact *redact.Redactor // nil hides nothing
	Disk   disk.FS          // nil is the machine's

	// Workspace is where tools work.
	Workspace string
	// Mark is in the environment of every process that the cycle's tools start.
	Mark string
	// MaxIterations and Timeout bound one cycle; both must be above 0.
	MaxIterations int
	Timeout       time.Duration
	// Observations says how large observations are kept, and Threshold from which
	// size on, in bytes of their JSON; 0 is 4096.
	Observations observation.Options
	Threshold    int
	// Protocol is how the model is asked, one of the constants; "" is auto.
	Protocol string
	// ModelID names the model and where it is, for what is learnt of it.
	ModelID string
	// MaxTokens bounds a request, estimated, and KeepResults is how many results
	// are never pruned while that can be helped; 0 are 32,000 and 3.
	MaxTokens, KeepResults int
	// Notes says whether calls are to come with a note of earlier results.
	Notes tools.NoteMode
	// Summaries lets the model sum up large outputs, one request each.
	Summaries bool
	// NotesMax bounds the notes of the memory at sleep, in bytes; 0 does not.
	NotesMax int
	// Locked are keys of the state that the model may not change.
	Locked []string
	// Task, unless empty, comes first in this cycle.
	Task string
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
	// Budget is what may be spent, Notify whom to tell, Retention how long old
	// cycles are kept; nil is no limit, nobody and for ever.
	Budget    *budget.Budget
	Notify    *notify.Notifier
	Retention *retention.Store
	Heartbeat notify.Heartbeat
	// Waking is what a cycle and the schedule tell each other.
	Waking Waking
	// PauseAfter is after how many failures for the same cause the home rests; 0 is never.
	PauseAfter int
	// ModelName is what the model is called in the journal.
	ModelName string
	// MaxOutput is how many tokens a reply may have, for the journal.
	MaxOutput int
	// Version is the binary's, and Config the configuration that holds, for people.
	Version string
	Config  []byte
	// Found is what decides where the agent's words go and which programs are its
	// servers; a cycle refuses what another hand has changed.
	Found trust.Found
	// Watch, unless nil, is told of each event as it is journalled.
	Watch func(journal.Event)
}

// Report is what a cycle came to.
type Report struct {
	Cycle      string
	Outcome    string // one of the outcomes of package journal
	Exit       int
	Iterations int
	Tokens     int
	Took       time.Duration
	// Err is why the cycle did not end with done, nil where it did.
	Err error
}

// Limit ends a cycle that has used up what it may use.
type Limit struct{ Name, Text string }

func (l *Limit) Error() string { return l.Name + ": " + l.Text }

// Signal ends a cycle that was told to stop. It is the cause with which the
// context of [Agent.RunOnce] is cancelled.
type Signal struct{ Signal syscall.Signal }

func (s Signal) Error() string { return "ended by " + signalName(s.Signal) }

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}

// ErrIdle ends a cycle that has nothing to do.
var ErrIdle = errors.New("nothing to do")

// maxProblems is how many replies without an action, in a row, end a cycle.
const maxProblems = 3

// RunOnce runs one cycle: wake, run, sleep. Sleep happens once wake has,
// whatever the run did. The error is for what kept the cycle from waking or from
// saving its memory; how the run itself ended is in the report.
func (a *Agent) RunOnce(ctx context.Context) (Report, error) {
	if err := a.stopped(); err != nil {
		report := Report{Outcome: journal.Idle, Err: err}
		a.tell(report, nil)
		return report, nil
	}
	beat := a.Heartbeat.Begin()
	report, err := a.cycle(ctx)
	if errors.Is(err, home.ErrAwake) {
		return report, err // that one tells
	}
	_ = beat(report.Exit == 0 && err == nil) // no ping fails a cycle
	a.tell(report, err)
	return report, err
}

// cycle is [Agent.RunOnce] in a home that is not paused, while it holds the lock.
func (a *Agent) cycle(ctx context.Context) (Report, error) {
	c, err := a.wake()
	if err != nil {
		return Report{}, err
	}
	defer c.unlock()
	defer c.unshelve()
	a.Budget.Begin(c.id)
	return a.sleep(c, limited(a.run(ctx, c)))
}

// run asks and acts until done, a limit or an error; nil means done.
func (a *Agent) run(ctx context.Context, c *cycle) error {
	limit := &Limit{"timeout", fmt.Sprintf("%s of %s used", a.Timeout, a.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Timeout, limit)
	defer cancel()
	pack, err := a.begin(ctx, c)
	defer pack()
	if err != nil {
		return err
	}
	for c.iteration() < a.MaxIterations {
		done, err := a.iterate(ctx, c)
		if ctx.Err() != nil && !done {
			return context.Cause(ctx)
		}
		if done || err != nil {
			return err
		}
	}
	return &Limit{"max_iterations", fmt.Sprintf("%d of %d iterations used", c.iteration(), a.MaxIterations)}
}

// begin gives the cycle all that its run needs, and what puts that away again.
func (a *Agent) begin(ctx context.Context, c *cycle) (pack func(), err error) {
	a.shelve(c)
	a.clear()
	if a.Waking.IdleSkip {
		c.saw = look(a.Home, a.Waking.Watch)
	}
	if err := a.prepare(c, c.journal); err != nil {
		return func() {}, err
	}
	return a.unpack(ctx, c)
}

// iterate asks the model once and does what it says.
func (a *Agent) iterate(ctx context.Context, c *cycle) (done bool, err error) {
	if err := a.stopped(); err != nil {
		return false, err
	}
	c.iterations.Add(1)
	reply, err := a.ask(ctx, c)
	if err != nil {
		return false, fmt.Errorf("model: %w", err)
	}
	actions, err := c.talk.Actions(reply)
	if err != nil {
		return false, c.problem(err)
	}
	c.problems = 0
	for i, action := range actions {
		o, err := a.act(ctx, c, action)
		if err != nil {
			return false, err
		}
		c.talk.Add(o)
		if o.Done {
			return true, c.leave(actions[i+1:])
		}
		if ctx.Err() != nil {
			break
		}
	}
	return false, nil
}

// act carries out one action, unless the home was stopped or has spent enough.
func (a *Agent) act(ctx context.Context, c *cycle, action dispatcher.Action) (dispatcher.Observation, error) {
	err := a.stopped()
	if err == nil {
		err = a.spend(ctx, action)
	}
	if err != nil {
		return dispatcher.Observation{}, err
	}
	return c.dispatcher.Do(ctx, action)
}

func (a *Agent) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

func (a *Agent) disk() disk.FS {
	if a.Disk == nil {
		return disk.OS{}
	}
	return a.Disk
}
