package worker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/agent/schedule"
	"rouse/fleet/store"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/setup"
)

// verbs are the commands of rouse that can be ordered, beside run: they change the home
// alone, and wake nothing.
var verbs = [...]string{"tell", "approvals", "pause", "resume", "allow", "rewind", "reset"}

// refused are flags that would lead elsewhere, or wake.
var refused = [...]string{"--home", "--now"}

// asked is the wake that an order asks for, in the ledger of slots; [schedule.Watch] is another one.
const asked = "run"

// accept is the one thing that doctor is ordered for: what nobody else would accept.
const accept = "doctor --accept"

const orderTime = time.Minute

// orders carries out what was ordered, until the worker is to end. Nothing of it counts
// before the commit, which says that it is done.
func (v *visit) orders(drain context.Context, orders []store.Order) (done []store.Done, err error) {
	if err := v.folder.Apart(); err != nil {
		return nil, err
	}
	for _, o := range orders {
		if drain.Err() != nil {
			break
		}
		d, err := v.order(o)
		if err != nil {
			return nil, err
		}
		v.log("%s: %s ordered rouse %s: exit %d", v.home.Name, o.By, text.Line(strings.Join(o.Argv, " "), 200), d.Exit)
		done = append(done, d)
	}
	return done, nil
}

func (v *visit) order(o store.Order) (store.Done, error) {
	if r, is := Delivered(o); is {
		return v.receive(o, r), nil
	}
	argv := slices.Clone(o.Argv)
	if len(argv) > 0 && (argv[0] == "approve" || argv[0] == "deny") {
		argv = append([]string{"approvals"}, argv...)
	}
	if len(argv) > 0 && argv[0] == asked || slices.Equal(argv, []string{schedule.Watch}) {
		return v.ask(o, argv[0], argv[1:])
	}
	flag := func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(refused[:], name)
	}
	known := len(argv) > 0 && slices.Contains(verbs[:], argv[0]) || strings.Join(argv, " ") == accept
	if !known || slices.ContainsFunc(argv, flag) {
		return store.Done{ID: o.ID, Exit: 2, Said: fmt.Sprintf("that cannot be ordered: %s; what can be is %s, %s and %s, without %s", text.Line(strings.Join(o.Argv, " "), 200), asked, accept, strings.Join(verbs[:], ", "), strings.Join(refused[:], ", "))}, nil
	}
	return v.run(o, append([]string{argv[0], "--home", v.folder.Dir}, argv[1:]...)...)
}

// ask has the home woken, once, by its own ledger: a cycle of it that is lost is not begun
// again. A task goes before.
func (v *visit) ask(o store.Order, kind string, args []string) (store.Done, error) {
	d := store.Done{ID: o.ID}
	if task, ok := strings.CutPrefix(strings.Join(args, "="), "--task="); ok && len(args) < 3 {
		var err error
		if d, err = v.run(o, "tell", "--home", v.folder.Dir, "--", task); err != nil || d.Exit != 0 {
			return d, err
		}
	} else if len(args) > 0 {
		return store.Done{ID: o.ID, Exit: 2, Said: "run takes --task TASK, and nothing else"}, nil
	}
	s, err := v.open()
	if err == nil {
		err = s.Slots().Ask(kind, v.now())
	}
	if err != nil {
		return store.Done{ID: o.ID, Exit: 2, Said: text.Line(err.Error(), 2000)}, nil
	}
	d.Said = strings.TrimSpace(d.Said + "\nthe home is woken at once, unless a cycle is awake")
	return d, nil
}

// run runs rouse. It fails where nobody knows what came of that.
func (v *visit) run(o store.Order, args ...string) (store.Done, error) {
	c, out := v.command(args...)
	c.Env = append(slices.Clone(c.Env), setup.ByVariable+"="+o.By)
	c.Timeout, c.Stdin = orderTime, bytes.NewReader(o.Input)
	exit, err := v.runs.Run(v.ctx, c)
	if err == nil {
		err = context.Cause(v.ctx)
	}
	d := store.Done{ID: o.ID, Exit: exit.Code, Said: said(out)}
	if exit.Cause == proc.TimedOut {
		d.Exit, d.Said = 1, fmt.Sprintf("ended after %s: %s", orderTime, d.Said)
	}
	return d, err
}
