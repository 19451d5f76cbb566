package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rouse/internal/text"
	"rouse/scratchpad"
	"rouse/tools"
)

// Proof is how tasks are checked. The zero value checks none.
type Proof struct {
	// Valid says what is wrong with checks that the model gives a task.
	Valid func(checks any) error
	// Prove tests what must hold for the current task to be done, and names what does
	// not, each with what was seen.
	Prove func(ctx context.Context, step int) (failed []Unmet, err error)
	// Failed is what the cycle ends with though it does not hold.
	Failed []Unmet

	unmet []Unmet // at the last done
	since int     // tools called when that was
	calls int
}

// Unmet is a check that does not hold.
type Unmet struct{ Check, Seen string }

func (u Unmet) String() string { return u.Check + ": " + u.Seen }

// refused tests the checks of a task that is said to be done. It is refused where one
// does not hold, unless that was so at the last done and no tool was called since: then
// the cycle ends with it.
func (d *Dispatcher) refused(ctx context.Context, step int) error {
	if d.Prove == nil {
		return nil
	}
	failed, err := d.Prove(ctx, step)
	if err != nil || len(failed) == 0 {
		return err
	}
	if err := d.Learn(step, d.quoted(step)); err != nil {
		return err
	}
	again := d.calls == d.since && slices.ContainsFunc(failed, func(u Unmet) bool {
		return slices.ContainsFunc(d.unmet, func(was Unmet) bool { return was.Check == u.Check })
	})
	d.unmet, d.since = failed, d.calls
	if again {
		d.Failed = failed
		return nil
	}
	return refusef("not done: Rouse tested the task's checks, and this does not hold: %s. Mend it and call done again; "+
		"done again without a call of a tool before it ends the cycle, and the task has failed", unmet(failed))
}

// quoted is where what a check saw may be from: as a process's, nobody watches it.
func (d *Dispatcher) quoted(step int) []string {
	if d.Past != nil {
		then, _ := d.Past(step) // why there is nothing is met when the call ends
		return then.From
	}
	return d.watch(tools.Tool{Name: "shell"}, tools.Call{})(tools.Result{})
}

func unmet(list []Unmet) string { return text.Join(list, "; ", Unmet.String) }

// postponed are the changes of a done whose task failed: it goes behind the others.
func postponed(s *scratchpad.State, failed []Unmet) (changes []scratchpad.Change) {
	if task := s.CurrentTask(); task != nil && len(s.Pending()) > 0 {
		changes = Promote(s)
		changes = append(changes, scratchpad.Change{Op: scratchpad.OpExtend, Key: "pending_actions", Value: []any{task}})
	}
	return append(changes, note("\n[CHECK FAILED] "+text.Line(unmet(failed), 2000)))
}

// Keys of a task and of a check.
const (
	checkKey   = "check"
	byKey      = "by"
	byAgent    = "agent"
	commandKey = "command"
)

// ChecksOf are the checks that a task carries, as they stand there.
func ChecksOf(task any) (checks any, ok bool) {
	m, _ := task.(map[string]any)
	checks, ok = m[checkKey]
	return checks, ok
}

// unchecked is a task without its checks: as it is kept when it is done.
func unchecked(task any) any {
	m, _ := task.(map[string]any)
	if _, ok := m[checkKey]; !ok {
		return task
	}
	if m = maps.Clone(m); len(m) == 2 && m["task"] != nil {
		return m["task"]
	}
	delete(m, checkKey)
	return m
}

// guarded says whether a person gave a task a check, or it waits for one.
func guarded(task any) bool {
	if !Ready(task) {
		return true
	}
	checks, ok := ChecksOf(task)
	if list, isList := checks.([]any); isList && len(list) > 0 {
		return slices.ContainsFunc(list, func(c any) bool { return !agents(c) })
	}
	return ok && !agents(checks)
}

func agents(check any) bool {
	m, _ := check.(map[string]any)
	return m[byKey] == byAgent
}

// marked is a task whose checks are the agent's.
func marked(task any) any {
	m := maps.Clone(task.(map[string]any))
	list, _ := m[checkKey].([]any)
	if len(list) == 0 {
		m[checkKey] = mark(m[checkKey])
		return m
	}
	list = slices.Clone(list)
	for i, c := range list {
		list[i] = mark(c)
	}
	m[checkKey] = list
	return m
}

func mark(check any) any {
	if line, ok := check.(string); ok {
		return map[string]any{commandKey: line, byKey: byAgent}
	}
	m, ok := check.(map[string]any)
	if m = maps.Clone(m); !ok {
		m = map[string]any{} // which cannot be tested
	}
	m[byKey] = byAgent
	return m
}

// Guard gives the changes of after that leave every task there to which a person gave a
// check in before, as it was, and that mark all other checks as the agent's; kept names
// those tasks that would have been lost or changed.
func Guard(before, after *scratchpad.State) (changes []scratchpad.Change, kept []string) {
	was, is := queue(before), queue(after)
	if !slices.ContainsFunc(was, guarded) && !slices.ContainsFunc(is, carries) {
		return nil, nil
	}
	left, now := items(was), items(is)
	found := make([]bool, len(now)) // as it was
	for i, task := range now {
		found[i] = task.task != nil && left.take(func(t item) bool { return t.key == task.key }).task != nil
	}
	for i := 0; i < len(now); i++ {
		if found[i] || now[i].task == nil {
			continue
		}
		named := func(t item) bool { return t.name == now[i].name && guarded(t.task) }
		then := left.take(named)
		if then.task == nil { // or this is its shadow, in whose place it comes
			if j := slices.IndexFunc(now[i+1:], named) + i + 1; j > i && found[j] {
				then = now[j]
				now, found = slices.Delete(now, j, j+1), slices.Delete(found, j, j+1)
			}
		}
		if then.task != nil {
			now[i], kept = then, append(kept, then.name)
		} else if carries(now[i].task) {
			now[i].task = marked(now[i].task)
		}
	}
	for i, t := range left {
		if guarded(t.task) {
			now, kept = slices.Insert(now, min(max(i, 1), len(now)), t), append(kept, t.name)
		}
	}
	return requeue(is, now.tasks()), kept
}

// item is a task, its JSON and its name.
type item struct {
	task      any
	key, name string
}

type list []item

func items(tasks []any) (l list) {
	for _, task := range tasks {
		key, _ := json.Marshal(task)
		l = append(l, item{task, string(key), scratchpad.TaskText(task)})
	}
	return l
}

func (l list) tasks() (tasks []any) {
	for _, t := range l {
		tasks = append(tasks, t.task)
	}
	return tasks
}

// take takes the first task out that fits.
func (l list) take(fits func(item) bool) (found item) {
	if i := slices.IndexFunc(l, fits); i >= 0 {
		found, l[i] = l[i], item{}
	}
	return found
}

// queue are the tasks of a state, of which the first is the current one, or nil.
func queue(s *scratchpad.State) []any { return append([]any{s.CurrentTask()}, s.Pending()...) }

// requeue are the changes that make one queue of another.
func requeue(is, now []any) (changes []scratchpad.Change) {
	if !equal(is[0], now[0]) {
		changes = append(changes, scratchpad.Change{Op: scratchpad.OpSet, Key: "current_task", Value: now[0]})
	}
	if !equal(is[1:], now[1:]) {
		changes = append(changes, scratchpad.Change{Op: scratchpad.OpSet, Key: "pending_actions", Value: now[1:]})
	}
	return changes
}

func carries(task any) bool { _, ok := ChecksOf(task); return ok }

func equal(a, b any) bool {
	x, err := json.Marshal(a)
	y, failed := json.Marshal(b)
	return err == nil && failed == nil && string(x) == string(y)
}

// guardTasks adds to what the model changes of the memory what keeps the tasks that a person
// gave a check, and says so.
func (d *Dispatcher) guardTasks(changes []scratchpad.Change) ([]scratchpad.Change, string, error) {
	next := d.State.Clone()
	if err := next.Apply(changes...); err != nil {
		return nil, "", refusef("%v; nothing was changed", err)
	}
	more, kept := Guard(d.State, next)
	if err := errors.Join(next.Apply(more...), d.valid(next)); err != nil {
		return nil, "", refusef("%v; nothing was changed", err)
	}
	if len(kept) == 0 {
		return append(changes, more...), "", nil
	}
	return append(changes, more...), fmt.Sprintf("kept as it was, since it waits for a person, or a person gave it a check that has not passed yet: %s", text.Line(strings.Join(kept, "; "), 500)), nil
}

// valid says what is wrong with a check that the model gives.
func (d *Dispatcher) valid(next *scratchpad.State) error {
	had := queue(d.State)
	for _, task := range queue(next) {
		checks, ok := ChecksOf(task)
		if !ok || d.Valid == nil || slices.ContainsFunc(had, func(t any) bool { return equal(t, task) }) {
			continue
		}
		if err := d.Valid(checks); err != nil {
			return err
		}
	}
	return nil
}
