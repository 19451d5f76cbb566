package flow

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Worker visits homes, and takes workflows along.
type Worker struct {
	Waker  Waker
	Name   string
	Labels []string
	Homes  int // so many are awake at once
	// Told hears of each visit when it is over.
	Told func(home string, took time.Duration, err error)

	life    context.Context // ends visits: nothing that Temporal says does
	held    atomic.Bool
	mu      sync.Mutex
	running map[string]*visit // by home
}

// Hold lets no visit begin, or with false lets them again. Those that run go on.
func (w *Worker) Hold(is bool) { w.held.Store(is) }

// Work works until ctx ends, and then until the visits that run are over; life ends those too.
// An error says that it could not begin.
func (t *Temporal) Work(ctx, life context.Context, w *Worker) error {
	if len(w.Labels) > MaxLabels {
		return fmt.Errorf("a worker has at most %d labels", MaxLabels)
	}
	w.life = life
	tuner, err := tuned(newSlots(w.Homes, &w.held))
	if err != nil {
		return err
	}
	var all []worker.Worker
	defer func() {
		var ended sync.WaitGroup
		for _, one := range all {
			ended.Go(one.Stop)
		}
		ended.Wait()
	}()
	for _, queue := range queues(t.fleet, w.Name, w.Labels) {
		one := worker.New(t.client, queue, worker.Options{
			Identity: w.Name, Tuner: tuner, WorkerStopTimeout: longest, MaxHeartbeatThrottleInterval: beat,
			DisableWorkflowWorker: queue != base(t.fleet), DisableRegistrationAliasing: true,
		})
		if queue == base(t.fleet) {
			one.RegisterWorkflowWithOptions(Home, workflow.RegisterOptions{Name: workflowName})
		}
		one.RegisterActivityWithOptions(w.wake, activity.RegisterOptions{Name: activityName})
		if err := one.Start(); err != nil {
			return fmt.Errorf("temporal at %s: %w", t.Address, err)
		}
		all = append(all, one)
	}
	<-ctx.Done()
	return nil
}

// tuned lets visits have the slots that they share. Workflows take no time.
func tuned(s *slots) (worker.WorkerTuner, error) {
	other, err := worker.NewFixedSizeSlotSupplier(100)
	if err != nil {
		return nil, err
	}
	return worker.NewCompositeTuner(worker.CompositeTunerOptions{ActivitySlotSupplier: s, WorkflowSlotSupplier: other, LocalActivitySlotSupplier: other, NexusSlotSupplier: other, SessionActivitySlotSupplier: other})
}
