package flow

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Next is what a visit says of the one after it.
type Next struct {
	At    time.Time // when it is due; the zero time is never, unless a signal comes
	Gone  bool      // the home is no longer in the fleet: pulled, or removed
	Needs []string  // labels of the worker that may do it
}

// Input is what the workflow of a home knows. It is in histories: fields are only added.
type Input struct {
	Name  string
	Next  Next
	Due   bool // a visit is due whatever Next says: the first one, or one for a signal
	Early int  // visits in a row that were over at once, and after which one is due again at once
}

// Signal wakes a home. Any number of them while a visit runs is one more visit.
type Signal struct{ Needs []string }

// Home is the workflow of a home: it has it visited when a visit is due or a signal came, until it
// is gone. Of all it does only the visits' results and Temporal's clock decide, so that a worker
// that goes on where another one died does the same; whoever changes it lets workflows that run
// go on by [workflow.GetVersion], and the recorded history of its test says when that is missing.
func Home(ctx workflow.Context, in Input) error {
	signals := workflow.GetSignalChannel(ctx, signalName)
	for visits := 1; ; visits++ {
		in.wait(ctx, signals)
		gone := in.visit(ctx, signals)
		if ctx.Err() != nil { // somebody cancelled the workflow
			return ctx.Err()
		}
		if gone {
			return nil
		}
		if visits >= maxVisits || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, workflowName, in)
		}
	}
}

// take takes the signals that came, of which the visit that follows at once is the answer.
func (in *Input) take(signals workflow.ReceiveChannel) (any bool) {
	for s := (Signal{}); signals.ReceiveAsync(&s); any = true {
		in.Next, in.Due, in.Early = Next{Needs: s.Needs}, true, 0
	}
	return any
}

// wait waits until the next visit is due.
func (in *Input) wait(ctx workflow.Context, signals workflow.ReceiveChannel) {
	due := in.Next.At.Sub(workflow.Now(ctx))
	if in.Due {
		due = 0
	}
	if in.Early > burst {
		due = max(due, time.Second<<min(in.Early-burst-1, 6))
	}
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	over := func() bool { return false }
	switch {
	case due > 0:
		over = workflow.NewTimer(timed, due).IsReady
	case in.Due || !in.Next.At.IsZero():
		over = func() bool { return true }
	}
	for !in.take(signals) && !over() && ctx.Err() == nil {
		_ = workflow.Await(ctx, func() bool { return over() || signals.Len() > 0 })
	}
}

// visit has the home visited once, and says whether it is gone. A signal meanwhile makes one more
// visit due; where it names other needs, a visit that still waits for a worker is given up.
func (in *Input) visit(ctx workflow.Context, signals workflow.ReceiveChannel) (gone bool) {
	base := workflow.GetInfo(ctx).TaskQueueName
	at, began := queue(base, in.Next.Needs), workflow.Now(ctx)
	in.Due = false
	visit, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options(at)))
	done := workflow.ExecuteActivity(visit, activityName, in.Name)
	stay, leave := workflow.NewDisconnectedContext(ctx) // who cancels the workflow waits for it, too
	defer leave()
	again := false
	for !done.IsReady() || signals.Len() > 0 {
		_ = workflow.Await(stay, func() bool { return done.IsReady() || signals.Len() > 0 })
		again = in.take(signals) || again
		if queue(base, in.Next.Needs) != at {
			cancel()
		}
	}
	var next Next
	err := done.Get(stay, &next)
	switch now := workflow.Now(ctx); {
	case again:
		return false
	case err != nil:
		in.Due = true
		in.Early++
	case next.At.IsZero() || next.At.After(now) || now.Sub(began) > time.Second:
		in.Next, in.Early = next, 0
	default:
		in.Next = next
		in.Early++
	}
	return in.Next.Gone
}
