package worker_test

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rouse/fleet/worker"
)

// TestWatch: a change of a watched file wakes the home, once, where this worker had it last: also
// after the store was away, and for a worker that was started anew. What a visit changes wakes
// nothing, nor does what changes in the folder of a worker that another one overtook.
func TestWatch(t *testing.T) {
	r := newRig(t, often+"watch: [workspace/inbox, ../../out, ../venus, ../../keys, workspace/link]\n")
	r.write("a/venus/mail", "0")
	r.do = func(int64) string {
		return "mkdir -p inbox; echo own >inbox/own; echo own >../../../out; ln -sfn ../../venus link"
	}
	var heard atomic.Bool // that the store is away
	started := func(name string) (*worker.Worker, context.CancelFunc) {
		w := r.worker(name)
		w.Log = func(line string) {
			heard.Store(heard.Load() || strings.HasPrefix(line, "no change of watched files is told"))
		}
		ctx, end := context.WithCancel(t.Context())
		go w.Watch(ctx)
		return w, end
	}
	orders := func() (n int) {
		all, err := r.store.NewestOrders(t.Context(), r.at().ID, 100)
		r.must(err)
		for _, o := range all {
			if strings.Join(o.Argv, " ") == "watch" {
				n++
			}
		}
		return n
	}
	ran := func() int {
		return len(regexp.MustCompile(`"entry":"watch".*"status":"ran"`).FindAllString(r.read("a/moon/logs/ledger.jsonl"), -1))
	}
	woken := func(n int, w *worker.Worker) {
		t.Helper()
		r.await("an order", func() bool { return orders() == n })
		r.await("a cycle", func() bool { r.wake(w); return ran() == n })
	}
	none := func(n int, what string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if orders() != n {
				t.Fatal(what + " wakes the home")
			}
		}
	}

	a, end := started("a")
	r.wake(a)
	r.write("a/moon/workspace/inbox/mail", "1") // whose folder was not there
	woken(1, a)
	r.order("run", "--task", "work")
	r.await("a cycle that writes", func() bool { r.wake(a); return r.effects() == 1 })
	none(1, "what its own cycle did")

	r.write("a/venus/mail", "1")
	r.write("keys/.env", r.read("keys/.env"))
	none(1, "what its tools do not see")

	r.away(true)
	r.write("out", "2")
	r.await("the worker to try", heard.Load)
	r.away(false)
	woken(2, a)

	end()
	a, end = started("a")
	r.await("a watch", func() bool { r.write("out", "3"); return orders() == 3 })
	woken(3, a)

	r.order("run", "--task", "work")
	b := r.worker("b")
	r.await("a cycle elsewhere", func() bool { r.wake(b); return r.effects() == 2 })
	r.write("a/moon/workspace/inbox/mail", "4")
	none(3, "a folder that was overtaken")
	end()
}
