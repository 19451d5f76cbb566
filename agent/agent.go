package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"rouse/agent/approval"
	"rouse/agent/budget"
	"rouse/agent/history"
	"rouse/agent/model"
	"rouse/agent/notify"
	"rouse/agent/retention"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/mirror"
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
	Keeper
	Asking

	Tools *tools.Set
	Boxes []OpenBox // of further tools
	// Observations says how large observations are kept, and Threshold from which
	// size on, in bytes of their JSON; 0 is 4096.
	Observations observation.Options
	Threshold    int
	// Locked are keys of the state that the model may not change.
	Locked []string
	// Task, unless empty, comes first in this cycle; that of a slot comes behind what
	// there is to do.
	Task string
	// Demo are the tasks of a new home, which go once there is another one.
	Demo []string
	// Budget is what may be spent, Retention how long old cycles are kept; nil is
	// no limit and for ever.
	Budget    *budget.Budget
	Retention *retention.Store
	Heartbeat notify.Heartbeat
	// Waking is what a cycle and the schedule tell each other.
	Waking Waking
	// Checks say what must hold for what cycles do.
	Checks Checks
	// Consent is what the operator has to say of calls, Approvals where those wait that
	// people are asked about, nil for nowhere, and Answer, unless nil, asks somebody who is
	// there, whose decision may be none.
	Consent   dispatcher.Consent
	Approvals *approval.File
	Answer    func(dispatcher.Asked) journal.Approval
	// PauseAfter is after how many failures for the same cause the home rests; 0 is never.
	PauseAfter int
	// Export, unless nil, tells monitoring elsewhere what the cycle did, when the home is not locked.
	Export func()
	// Past, unless nil, is the cycle that is run again in place of a new one.
	Past *Past
}

// Asking is how a cycle asks its model.
type Asking struct {
	Model Model
	// ModelName is what the model is called in the journal, and ModelID names it and
	// where it is, for what is learnt of it.
	ModelName, ModelID string
	// Style is what the configuration adds to its requests, for the journal.
	Style string
	// Fallback are the models that are asked, in this order, where that one is away.
	Fallback []Target
	// Protocol is one of the constants; "" is auto.
	Protocol string
	// MaxIterations and Timeout bound one cycle; both must be above 0.
	MaxIterations int
	Timeout       time.Duration
	// MaxTokens bounds a request, estimated, and KeepResults is how many results
	// are never pruned while that can be helped; 0 are 32,000 and 3. MaxOutput is
	// how many tokens a reply may have, for the journal.
	MaxTokens, KeepResults, MaxOutput int
	// Notes says whether calls are to come with a note of earlier results.
	Notes tools.NoteMode
	// Summaries lets the model sum up large outputs, one request each.
	Summaries bool
}

// Report is what a cycle came to.
type Report struct {
	Cycle      string
	Outcome    string // one of the outcomes of package journal
	Exit       int
	Iterations int
	Tokens     int
	Took       time.Duration
	Task       string // the verdict
	about      string // of which task
	unmet      []string
	// Err is why the cycle did not end with done, nil where it did.
	Err error
	// Silent says that the cycle failed as the model gave no reply at all, before any
	// call was begun.
	Silent bool
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

// ErrIdle ends a cycle that has nothing to do, ErrWaiting one all of whose tasks wait for
// a person.
var (
	ErrIdle    = errors.New("nothing to do")
	ErrWaiting = errors.New("every task waits for an answer; rouse approvals lists what is asked")
)

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
	report.Err, err = a.full(report.Err), a.full(err)
	if a.Export != nil {
		defer a.Export()
	}
	if report.Silent && err == nil && a.Waking.Again != nil && a.Waking.Again() {
		a.deliver() // what comes of the slot is told when it is over
		return report, nil
	}
	if !lost(report, err) { // else its successor tells how that went
		_ = beat(report.Exit == 0 && err == nil) // no ping fails a cycle
	}
	a.tell(report, err)
	return report, err
}

// lost says that another worker may have the home.
func lost(r Report, err error) bool {
	return r.Outcome == journal.Lost || errors.Is(err, mirror.ErrLost)
}

// cycle is [Agent.RunOnce] in a home that is not paused, while it holds the lock.
func (a *Agent) cycle(ctx context.Context) (Report, error) {
	w, err := a.wake(a.Observations)
	if err != nil {
		return Report{}, err
	}
	defer w.unlock()
	defer w.shelf.close()
	a.Budget.Begin(w.id)
	report, err := a.sleep(w, a.run(ctx, w))
	if a.Retention != nil {
		w.shelf.stay = a.Retention.Policy.For(report.Outcome)
	}
	a.unslept(w.id, err)
	return report, err
}

// run makes a cycle of what woke, lets it live and says what came of it.
func (a *Agent) run(ctx context.Context, w *woken) ran {
	limit := &Limit{"timeout", fmt.Sprintf("%s of %s used", a.Timeout, a.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Timeout, limit)
	defer cancel()
	w.found = func() { a.version(&w.record, history.Before(w.id)) }
	kept := w.shelf.kept()
	c := a.newCycle(w, w.journal, a.keptText(kept))
	if a.Past != nil {
		a.Past.begin(c)
	}
	if err := c.dispatcher.Learn(0, a.Sources.Kept(kept)); err != nil {
		return c.ran(a.full(err))
	}
	return c.ran(a.full(c.standing(ctx, limited(a.Past.ends(c.live(ctx))))))
}

// live asks and acts until done, a limit or an error; nil means done.
func (c *cycle) live(ctx context.Context) error {
	pack, err := c.begin(ctx)
	defer pack()
	if err != nil {
		return err
	}
	for c.iteration() < c.MaxIterations {
		done, err := c.iterate(ctx)
		if cause := context.Cause(ctx); cause != nil && (!done || errors.Is(cause, mirror.ErrLost)) {
			return cause
		}
		if done && err == nil && c.dispatcher.Waited && onlyWaits(c.state) {
			return ErrWaiting
		}
		if done || err != nil {
			return err
		}
	}
	return &Limit{"max_iterations", fmt.Sprintf("%d of %d iterations used", c.iteration(), c.MaxIterations)}
}

// begin decides what the cycle is about, and opens what its tools need; it gives
// what closes that again.
func (c *cycle) begin(ctx context.Context) (pack func(), err error) {
	c.shelf.collect(c.now())
	c.clear()
	pack = func() {}
	if c.unruled != nil {
		return pack, Unruled(c.Home, c.unruled)
	}
	news := c.news()
	carries := news.carries(c)
	if carries { // which takes the tools
		pack, err = c.unpack(ctx)
	}
	if err == nil {
		err = c.remember(news.list.Entries...)
	}
	if err == nil {
		err = c.answered(ctx, news)
	}
	if err == nil {
		err = cmp.Or(c.hear(), c.choose(c.Task), c.attach())
	}
	c.dispatcher.Marks = c.Consent.Marks
	if err != nil || carries {
		return pack, err
	}
	return c.unpack(ctx)
}

// iterate asks the model once and does what it says.
func (c *cycle) iterate(ctx context.Context) (done bool, err error) {
	if err := c.stopped(); err != nil {
		return false, err
	}
	if err := c.hear(); err != nil {
		return false, err
	}
	c.iterations.Add(1)
	reply, err := c.ask(ctx)
	if err != nil {
		return false, fmt.Errorf("model: %w", err)
	}
	actions, err := c.actions(reply)
	if err != nil {
		return false, c.problem(err)
	}
	c.problems = 0
	unread := ""
	for i, action := range actions {
		action.Unread = unread
		o, err := c.act(ctx, action)
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
		if !o.OK {
			unread = fmt.Sprintf("step %d (%s)", o.Step, o.Tool)
		}
	}
	return false, nil
}

// act carries out one action, unless the home was stopped or has spent enough.
func (c *cycle) act(ctx context.Context, action dispatcher.Action) (dispatcher.Observation, error) {
	err := c.stopped()
	if err == nil {
		err = c.spend(ctx, action)
	}
	if err != nil {
		return dispatcher.Observation{}, err
	}
	return c.dispatcher.Do(ctx, action)
}
