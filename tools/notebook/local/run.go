package local

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"rouse/tools"
	"rouse/tools/notebook"
)

// run is one cell that runs.
type run struct {
	nonce  string
	ctx    context.Context // ends with the cell
	max    int64           // bytes it may print; 0 is no limit
	calls  sync.WaitGroup  // to the bridge
	beat   time.Duration   // between two signs of life of a call
	flood  chan struct{}   // closed when it has printed too much
	paused int             // installations that run, while it is not idle

	mu    sync.Mutex // also: one event at a time
	emit  func(notebook.Event)
	last  time.Time // when something came from it
	bytes int64
	over  bool
	ended bool
}

// output passes on a piece of output, as far as the limit allows. It is false
// if the cell has ended.
func (r *run) output(name notebook.Stream, b []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.last = time.Now()
	if r.max > 0 && r.bytes+int64(len(b)) > r.max {
		b = b[:r.max-r.bytes]
		if !r.over {
			r.over = true
			close(r.flood)
		}
	}
	r.bytes += int64(len(b))
	if len(b) > 0 {
		r.emit(notebook.Event{Stream: name, Data: b})
	}
	return true
}

// end lets no more events pass.
func (r *run) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// touch is a sign of life.
func (r *run) touch() {
	r.mu.Lock()
	r.last = time.Now()
	r.mu.Unlock()
}

// pause stops the idle clock (1) or lets it go on (-1).
func (r *run) pause(by int) {
	r.mu.Lock()
	r.paused += by
	r.last = time.Now()
	r.mu.Unlock()
}

// idle is for how long nothing has come.
func (r *run) idle() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused > 0 {
		return 0
	}
	return time.Since(r.last)
}

// run runs a cell in the process, which is ready.
func (r *Runtime) run(ctx context.Context, job notebook.Job, emit func(notebook.Event)) notebook.Outcome {
	k, limits := r.kernel, r.c.Limits
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	begun := time.Now()
	cell := &run{ctx: inner, max: r.c.MaxOutput, beat: min(10*time.Second, limits.Idle/3), flood: make(chan struct{}), emit: emit, last: begun}
	before := k.proc.Refused()
	var out notebook.Outcome
	if err := cell.begin(k, job); err != nil {
		k.attach(cell)
		out.Ended, out.Lost = notebook.Died, true
		out.Error = "Cell not run: " + k.diagnosis()
	} else {
		cell.await(ctx, k, limits.Total(job.Estimate), limits.Idle, &out)
	}
	k.mu.Lock() // from here on no call joins it
	cancel()
	k.mu.Unlock()
	if out.Lost {
		k.kill()
	}
	cell.calls.Wait()
	k.flush()
	k.attach(nil)
	cell.end()
	out.Duration = time.Since(begun)
	out.Reached = k.proc.Reached()
	out.Refused = r.cells.Refused(r.c.Workspace, out.Error, before, k.proc.Refused())
	return out
}

// begin asks the process for the cell. Output is the cell's from here on.
func (r *run) begin(k *kernel, job notebook.Job) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	nonce, err := k.send(map[string]any{"do": "cell", "code": job.Code, "number": job.Number})
	if err != nil {
		return err
	}
	r.nonce, k.current = nonce, r
	k.changed.Broadcast()
	return nil
}

// await waits until the cell is done or has to end, and in that case ends it:
// interrupt, then kill.
func (r *run) await(ctx context.Context, k *kernel, total, idle time.Duration, out *notebook.Outcome) {
	end := r.watch(ctx, k, total, idle, out)
	if out.Ended != "" {
		return
	}
	k.proc.Signal(syscall.SIGINT) // which Python turns into a KeyboardInterrupt
	patience := interruptGrace
	if end == notebook.Canceled {
		patience = cancelGrace
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r.watch(grace, k, 0, 0, out)
	said := out.Error
	came := out.Ended == notebook.OK || out.Ended == notebook.Failed
	out.Ended, out.Lost = end, end != notebook.Canceled || !came
	out.Error = r.verdict(end, total, idle)
	if came && said != "" {
		out.Error += "\n" + said
	}
}

// verdict says why a cell was ended.
func (r *run) verdict(end notebook.End, total, idle time.Duration) string {
	switch end {
	case notebook.TimedOut:
		return fmt.Sprintf("Cell timed out after %s", seconds(total))
	case notebook.Idle:
		return fmt.Sprintf("Cell killed: no output for %s", seconds(idle))
	case notebook.Flooded:
		return fmt.Sprintf("Cell killed: it printed more than %d bytes", r.max)
	}
	return "Cell canceled"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// watch takes what the process reports until the cell is done, which it writes
// to out, or has to end, which it returns. A limit of 0 is none.
func (r *run) watch(ctx context.Context, k *kernel, total, idle time.Duration, out *notebook.Outcome) notebook.End {
	late, still := timer(total), timer(idle)
	defer late.Stop()
	defer still.Stop()
	flood := r.flood
	if total == 0 {
		flood = nil // it is being ended already
	}
	for {
		select {
		case m, ok := <-k.messages:
			if !ok {
				out.Ended, out.Lost, out.Error = notebook.Died, true, "Cell killed: "+k.diagnosis()
				return ""
			}
			if m.Nonce == r.nonce && r.take(m, out) {
				return ""
			}
		case <-late.C:
			return notebook.TimedOut
		case <-still.C:
			rest := idle - r.idle()
			if rest <= 0 {
				return notebook.Idle
			}
			still.Reset(rest)
		case <-flood:
			return notebook.Flooded
		case <-ctx.Done():
			return notebook.Canceled
		}
	}
}

// timer is one that fires after d, or never if that is 0.
func timer(d time.Duration) *time.Timer {
	t := time.NewTimer(d)
	if d == 0 {
		t.Stop()
	}
	return t
}

// take takes a message of this cell and reports whether it is the last one.
func (r *run) take(m message, out *notebook.Outcome) bool {
	switch m.Is {
	case "log":
		r.output(notebook.Log, []byte(strings.TrimSpace(m.Text)+"\n"))
	case "picture":
		out.Media = append(out.Media, tools.Media{Type: m.Type, Data: m.Data})
	case "done":
		out.Ended, out.Value, out.HTML, out.Error = notebook.OK, m.Value, m.HTML, m.Error
		if m.Error != "" {
			out.Ended = notebook.Failed
		}
		return true
	}
	return false
}

// silent takes what a process prints while no cell runs, and drops it.
func silent() *run {
	return &run{ctx: context.Background(), flood: make(chan struct{}), emit: func(notebook.Event) {}}
}
