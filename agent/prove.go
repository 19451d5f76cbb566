package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"rouse/agent/check"
	"rouse/dispatcher"
	"rouse/dispatcher/policy"
	"rouse/internal/mirror"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// Checks are what must hold for what cycles do, beside what tasks in the memory carry.
type Checks struct {
	// Task are those of [Agent.Task], as a task in the memory would carry them, or of the
	// current task where that is empty; nil is none.
	Task []any
	// Standing hold for every cycle.
	Standing []check.Check
	// World makes what checks look at, once one is tested.
	World func(began time.Time) (check.World, error)
}

// proof is what testing came to.
type proof struct {
	task         string // the verdict, "" where nothing was tested
	about        string // of which task
	unmet, flaky []string
}

// proves lets the dispatcher of a cycle test the checks of its task.
func (c *cycle) proves() dispatcher.Proof {
	return dispatcher.Proof{
		Prove: c.prove,
		Valid: func(checks any) error { _, err := check.Parse(checks); return err },
	}
}

// prove tests what must hold as a task is said to be done. A task is proven by a check
// that a person gave it: what the agent gave itself, and what holds for every cycle, says
// nothing of it while it holds.
func (c *cycle) prove(ctx context.Context, step int) ([]dispatcher.Unmet, error) {
	task := c.state.CurrentTask()
	list := slices.Clone(c.extra)
	if checks, ok := dispatcher.ChecksOf(task); ok {
		list = append(list, check.Must(checks)...)
	}
	return c.test(ctx, step, scratchpad.TaskText(task), append(list, c.Checks.Standing...))
}

// test tests checks, journals what comes of each and makes the verdict of it.
func (c *cycle) test(ctx context.Context, step int, task string, list []check.Check) (failed []dispatcher.Unmet, err error) {
	c.proof = proof{about: task}
	proven := false
	tested := c.tested
	if c.Past != nil {
		tested = c.Past.tested
	}
	for e, err := range tested(ctx, step, task, list) {
		if err == nil {
			err = c.journal.Append(e)
		}
		if err != nil {
			c.proof = proof{}
			return nil, err
		}
		switch {
		case !e.OK:
			failed = append(failed, dispatcher.Unmet{Check: e.Check, Seen: e.Seen})
			c.proof.unmet = append(c.proof.unmet, text.Line(e.Check+": "+e.Seen, 300))
		case e.Flaky:
			c.proof.flaky = append(c.proof.flaky, e.Check)
		}
		proven = proven || e.By == check.Operator && !e.Standing
	}
	if len(failed) > 0 {
		c.proof.task = journal.TaskFailed
	} else if proven {
		c.proof.task = journal.TaskProven
	}
	return failed, nil
}

// tested tests checks, one after the other.
func (c *cycle) tested(ctx context.Context, step int, task string, list []check.Check) iter.Seq2[*journal.Checked, error] {
	return func(yield func(*journal.Checked, error) bool) {
		if len(list) == 0 {
			return
		}
		world, err := c.Checks.World(c.began)
		if err != nil {
			yield(nil, fmt.Errorf("checks: %w", err))
			return
		}
		world.Started = func(p proc.Identity) { _ = c.journal.Append(&journal.Started{Step: step, Process: p}) }
		for _, k := range list {
			if k.By == check.Agent {
				k.May = func(url string) error { return c.may(k, url) }
			}
			r := world.Test(ctx, k)
			e := &journal.Checked{
				Step: step, Task: task, Kind: k.Kind, Check: c.Redact.String(k.String()), By: k.By, Standing: k.Standing,
				OK: r.OK, Seen: r.Seen, Flaky: r.Flaky, Ms: r.Took.Milliseconds(),
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// may says why the rules do not let the agent's own check do what it does, or ask an
// address: what it could not do by a call it cannot do by a check.
func (c *cycle) may(k check.Check, url string) error {
	name, given := k.Call()
	if url != "" {
		given["url"] = url
	}
	args, _ := json.Marshal(given)
	t, ok := c.dispatcher.Find(name)
	if !ok {
		t = tools.Tool{Name: name}
	}
	d := c.dispatcher.Judge(t, policy.Call{Tool: name, Args: args, Origins: c.dispatcher.Could(t, args)})
	if d.Do == policy.Allow {
		return nil
	}
	return fmt.Errorf("the operator's policy (%s) lets no check of yours do that: %s", d.Rule, d.Why)
}

// standing tests what holds for every cycle where one ended with err and not with done,
// or with a task that waits, unless it was told to end.
func (c *cycle) standing(ctx context.Context, err error) error {
	if err == nil && !c.dispatcher.Waited {
		return nil
	}
	c.proof = proof{} // a done that was refused says nothing
	if errors.As(err, new(Signal)) || errors.As(err, new(*Stopped)) || errors.Is(err, mirror.ErrLost) {
		return err
	}
	if _, failed := c.test(context.WithoutCancel(ctx), 0, "", c.Checks.Standing); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// Failed says that checks of a cycle do not hold.
type Failed struct{ Unmet []string }

func (f *Failed) Error() string {
	return "the task has failed: " + text.Join(f.Unmet, "; ", func(s string) string { return s })
}

// attach gives the checks of the command line to the current task, so that they stay
// with it, or else to the cycle.
func (c *cycle) attach() error {
	task := c.state.CurrentTask()
	if len(c.Checks.Task) == 0 || c.Task != "" {
		return nil
	}
	if scratchpad.TaskText(task) == "" {
		c.extra = check.Must(c.Checks.Task)
		return nil
	}
	return c.dispatcher.Change(set("current_task", withChecks(task, c.Checks.Task)))
}

// withChecks is a task that carries these checks too.
func withChecks(task any, checks []any) any {
	if len(checks) == 0 {
		return task
	}
	m := map[string]any{"task": task}
	if old, ok := task.(map[string]any); ok {
		m = maps.Clone(old)
	}
	had, _ := dispatcher.ChecksOf(task)
	list := slices.Clone(check.Items(had))
	for _, more := range checks {
		if !slices.ContainsFunc(list, func(old any) bool { return fmt.Sprint(old) == fmt.Sprint(more) }) {
			list = append(list, more)
		}
	}
	m["check"] = list
	if len(list) == 1 {
		m["check"] = list[0]
	}
	return m
}
