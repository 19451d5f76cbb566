package flow

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const anything = "mock.Anything" // for an argument

// TestHome is what the workflow does with what visits say and what comes meanwhile, under a
// clock that stands unless it waits.
func TestHome(t *testing.T) {
	type visit struct {
		after time.Duration // since the workflow's begin
		queue string
	}
	type told struct {
		in    time.Duration // when the next one is due, since this visit's end
		lasts time.Duration
		needs []string
		gone  bool
		err   error
	}
	const q, never = "default-test-taskqueue", time.Duration(-1)
	for name, c := range map[string]struct {
		needs   []string
		signals map[time.Duration][]string // needs by when
		told    []told                     // one a visit; after the last one the home is gone
		want    []visit
	}{
		"never, but for a signal":             {told: []told{{in: never}, {in: time.Hour}}, signals: map[time.Duration][]string{100 * time.Hour: nil}, want: []visit{{0, q}, {100 * time.Hour, q}, {101 * time.Hour, q}}},
		"gone":                                {want: []visit{{0, q}}},
		"at its time":                         {told: []told{{in: time.Hour}, {in: time.Minute}}, want: []visit{{0, q}, {time.Hour, q}, {time.Hour + time.Minute, q}}},
		"a signal wakes":                      {told: []told{{in: time.Hour}, {in: time.Hour}}, signals: map[time.Duration][]string{time.Minute: nil}, want: []visit{{0, q}, {time.Minute, q}, {time.Hour + time.Minute, q}}},
		"signals in a visit are one more":     {told: []told{{in: time.Hour, lasts: 10 * time.Second}, {in: time.Hour}}, signals: map[time.Duration][]string{time.Second: nil, 2 * time.Second: nil, 3 * time.Second: nil}, want: []visit{{0, q}, {10 * time.Second, q}, {time.Hour + 10*time.Second, q}}},
		"gone, and pushed again in the visit": {told: []told{{gone: true, lasts: 10 * time.Second}, {in: time.Hour}}, signals: map[time.Duration][]string{time.Second: nil}, want: []visit{{0, q}, {10 * time.Second, q}, {time.Hour + 10*time.Second, q}}},
		"needs are the queue":                 {needs: []string{"gpu", "eu"}, told: []told{{in: time.Minute, needs: []string{"gpu"}}}, want: []visit{{0, q + ":eu+gpu"}, {time.Minute, q + ":gpu"}}},
		"a signal has newer needs":            {told: []told{{in: time.Hour}}, signals: map[time.Duration][]string{time.Minute: {"worker:w", "gpu"}}, want: []visit{{0, q}, {time.Minute, q + ":worker:w"}}},
		"an error is tried again":             {told: []told{{err: errors.New("disk full")}, {in: time.Hour}}, want: []visit{{0, q}, {time.Second, q}, {time.Hour + time.Second, q}}},
		"a worker behind its time spins not":  {told: slices.Repeat([]told{{in: -time.Hour}}, burst+3), want: append(slices.Repeat([]visit{{0, q}}, burst+1), visit{time.Second, q}, visit{3 * time.Second, q}, visit{7 * time.Second, q})},
		"what took long is due at once":       {told: []told{{in: -time.Hour, lasts: time.Minute}}, want: []visit{{0, q}, {time.Minute, q}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
			began := env.Now()
			var got []visit
			env.RegisterActivityWithOptions(new(Worker).wake, activity.RegisterOptions{Name: activityName})
			env.RegisterWorkflowWithOptions(Home, workflow.RegisterOptions{Name: workflowName})
			current := func() told { return append(c.told, told{gone: true})[len(got)-1] }
			env.OnActivity(activityName, anything, anything).AfterFn(func() time.Duration {
				got = append(got, visit{after: env.Now().Sub(began)})
				return current().lasts
			}).Return(func(ctx context.Context, name string) (Next, error) {
				got[len(got)-1].queue = activity.GetInfo(ctx).TaskQueue
				v := current()
				if v.in == never {
					return Next{}, nil
				}
				return Next{At: env.Now().Add(v.in), Gone: v.gone, Needs: v.needs}, v.err
			})
			for after, needs := range c.signals {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalName, Signal{needs}) }, after)
			}
			env.SetTestTimeout(time.Minute)
			env.ExecuteWorkflow(workflowName, Input{Name: "h", Due: true, Next: Next{Needs: c.needs}})
			if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("visits %v, want %v", got, c.want)
			}
		})
	}
}

// TestHomeGoesOn is that a long workflow begins anew with what it knew, and with the signal that
// came at its end.
func TestHomeGoesOn(t *testing.T) {
	for name, signal := range map[string]bool{"waiting": false, "signalled": true} {
		t.Run(name, func(t *testing.T) {
			env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
			env.RegisterActivityWithOptions(new(Worker).wake, activity.RegisterOptions{Name: activityName})
			env.RegisterWorkflowWithOptions(Home, workflow.RegisterOptions{Name: workflowName})
			visits, due := 0, time.Time{}
			env.OnActivity(activityName, anything, "h").Return(func(context.Context, string) (Next, error) {
				visits++
				if visits == maxVisits && signal {
					env.SignalWorkflow(signalName, Signal{[]string{"gpu"}})
				}
				due = env.Now().Add(time.Minute)
				return Next{At: due}, nil
			})
			env.ExecuteWorkflow(workflowName, Input{Name: "h", Due: true})
			var again *workflow.ContinueAsNewError
			var in Input
			if err := env.GetWorkflowError(); !errors.As(err, &again) || visits != maxVisits {
				t.Fatal(err, visits)
			}
			if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
				t.Fatal(err)
			}
			if in.Name != "h" || signal != in.Due || !signal && !in.Next.At.Equal(due) || signal != (len(in.Next.Needs) == 1) {
				t.Errorf("%+v", in)
			}
		})
	}
}

// TestReplay replays histories of workflows that versions of this code ran, to whose end: code
// that would do something else breaks the homes of a fleet that is updated.
func TestReplay(t *testing.T) {
	histories, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(histories) < 3 {
		t.Fatal(histories, err)
	}
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(Home, workflow.RegisterOptions{Name: workflowName})
	for _, path := range histories {
		if err := r.ReplayWorkflowHistoryFromJSONFile(nil, path); err != nil {
			t.Errorf("%s: %v; let workflows that run go on by workflow.GetVersion", path, err)
		}
	}
}

// TestQueues is where visits wait, and who comes for them.
func TestQueues(t *testing.T) {
	got := queues("f", "w", []string{"gpu", "eu"})
	if want := []string{"rouse-f", "rouse-f:eu", "rouse-f:eu+gpu", "rouse-f:gpu", "rouse-f:worker:w"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	for want, needs := range map[string][]string{"rouse-f": nil, "rouse-f:eu+gpu": {"gpu", "eu", "gpu"}, "rouse-f:worker:w": {"gpu", moved + "w"}} {
		if q := queue(base("f"), needs); q != want {
			t.Error(needs, q)
		}
	}
}
