// Package flow lets Temporal say when the homes of a fleet are woken, and by which worker.
//
// Each home has one workflow, [Home], that lives as long as the home is in the fleet: it waits
// until the home's next slot or a signal, and has the home visited by one activity, of a worker
// that has what the home needs. When a slot is due is said by the visit before, which asked the
// home itself; what a visit does is the [Waker]'s. Temporal may forget everything: the homes and
// all that was ordered are in the store, from which [Sweeper] fills it again.
package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Names in the histories of workflows that run: they never change.
const (
	workflowName = "Home"
	activityName = "Wake"
	signalName   = "wake"
)

// maxVisits is how many visits one run of a workflow has: about 11 events each, below the 4,096
// after which Temporal suggests the same, so a replay stays quick.
const maxVisits = 250

// burst is how many visits in a row may be over within a second with the next one due at once, such
// as for orders; then they are a second apart and more, up to a minute: something is wrong, say a clock.
const burst = 8

// beat is how often a worker says that it lives, and patience how long Temporal waits for that: one
// that is late is no reason, and of a worker that died others hear within half a minute.
const beat, patience = 8 * time.Second, 24 * time.Second

// longest ends a visit that never ends, though its worker lives. Cycles run for hours; rouse
// has limits of its own.
const longest = 7 * 24 * time.Hour

// options are those of a visit. It is tried until it comes off, at least once a minute: what
// hinders it (the store is away, a disk is full) is mended by somebody. It waits for a worker as
// long as it takes. Cancelled is a visit that has not begun; one that has is waited for.
func options(queue string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: longest,
		HeartbeatTimeout:    patience,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	}
}

// ID is the id of a home's workflow.
func ID(fleet string, home int64) string { return fmt.Sprintf("%s-%d", base(fleet), home) }

// base is the queue of all workers of a fleet: workflows are in it, and visits that need nothing.
func base(fleet string) string { return "rouse-" + fleet }

// moved begins the label of one worker (store.OnWorker): a home that needs it was moved there.
const moved = "worker:"

// queue is where the visits of a home with these needs are.
func queue(base string, needs []string) string {
	if i := slices.IndexFunc(needs, func(n string) bool { return strings.HasPrefix(n, moved) }); i >= 0 {
		return base + ":" + needs[i]
	}
	if len(needs) == 0 {
		return base
	}
	return base + ":" + strings.Join(slices.Compact(slices.Sorted(slices.Values(needs))), "+")
}

// MaxLabels is how many labels a worker may have: each subset of them is a queue that it polls.
const MaxLabels = 4

// queues are those of a worker: of all that its labels fulfil, and of homes that were moved to it.
func queues(fleet, name string, labels []string) []string {
	all := map[string]bool{queue(base(fleet), []string{moved + name}): true}
	for set := range 1 << len(labels) {
		var needs []string
		for i, l := range labels {
			if set>>i&1 == 1 {
				needs = append(needs, l)
			}
		}
		all[queue(base(fleet), needs)] = true
	}
	return slices.Sorted(maps.Keys(all))
}
