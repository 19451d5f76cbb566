package serve

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// keepJobs is how many jobs of a notebook are kept that have ended and whose
// client did not say that it has seen it.
const keepJobs = 4

// entry is a notebook that was asked for since the server runs.
type entry struct {
	s    *Server
	at   place
	dir  string
	turn sync.Mutex // one job at a time; guards runtime, env and secret

	runtime     notebook.Runtime // nil if there is none yet
	env, secret []string

	mu      sync.Mutex // guards the rest
	jobs    map[string]*job
	order   []string        // of jobs, the oldest first
	gone    map[string]bool // ids of jobs that are kept no more
	current *job
	held    bool        // it has a process, or will
	used    time.Time   // when its last job ended
	idle    *time.Timer // closes the notebook
}

var errGone = errors.New("the events of this cell are kept no more")

var (
	errStopping = errors.New("the server is stopping")
	errMany     = errors.New("too many notebooks are open")
	errKept     = errors.New("too many notebooks are kept")
	errWaiting  = errors.New("too many cells of this notebook wait for their turn")
)

// entry finds a notebook, or makes its entry.
func (s *Server) entry(at place) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping
	}
	if n := s.open[at]; n != nil {
		return n, nil
	}
	n := &entry{s: s, at: at, dir: s.folder(at), jobs: map[string]*job{}, gone: map[string]bool{}}
	s.open[at] = n
	return n, nil
}

// has says whether a notebook has a process, or will, and whether it has events.
func (n *entry) has() (held, events bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held, len(n.jobs) > 0
}

func (n *entry) lastUse() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.used
}

// letGo drops all events, unless someone reads them.
func (n *entry) letGo() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, j := range n.jobs {
		if !j.idle() {
			return false
		}
	}
	n.forgetAll()
	return true
}

// find is a notebook that was asked for before, or nil.
func (s *Server) find(at place) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[at]
}

// begin begins a job.
func (n *entry) begin(action string, want wire.Job) (*job, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(want.Seen)
	if len(n.order) >= keepJobs+maxWaiting {
		return nil, errWaiting
	}
	j, err := n.newJob(action, want)
	if err != nil {
		return nil, err
	}
	n.held = true
	n.s.jobs.Go(func() { n.run(j) })
	return j, nil
}

// job is a job that was begun, or nil. Without a notebook there is none.
func (n *entry) job(id string) (*job, error) {
	if n == nil {
		return nil, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[id] {
		return nil, errGone
	}
	return n.jobs[id], nil
}

func (n *entry) newJob(action string, want wire.Job) (*job, error) {
	if err := n.s.FS.MkdirAll(n.dir, 0o700); err != nil {
		return nil, err
	}
	stream, err := newStream(n.s.FS, n.dir)
	if err != nil {
		return nil, err
	}
	j := &job{action: action, want: want, stream: stream}
	j.ctx, j.cancel = context.WithCancel(n.s.ctx)
	if action == wire.Close && !want.Save {
		j.cancel()
	}
	n.jobs[want.ID] = j
	n.order = append(n.order, want.ID)
	n.limit()
	return j, nil
}

// limit drops the oldest jobs that have ended.
func (n *entry) limit() {
	for i := 0; len(n.order) > keepJobs && i < len(n.order)-1; {
		if id := n.order[i]; n.jobs[id].ended() {
			n.forget(id)
			continue
		}
		i++
	}
}

// forget drops a job that has ended. Its id stays known.
func (n *entry) forget(id string) {
	j := n.jobs[id]
	if j == nil || !j.ended() {
		return
	}
	j.drop()
	delete(n.jobs, id)
	n.gone[id] = true
	n.order = slices.DeleteFunc(n.order, func(s string) bool { return s == id })
}

func (n *entry) forgetAll() {
	for _, id := range slices.Clone(n.order) {
		n.forget(id)
	}
}

// interrupt cancels a job, or all.
func (n *entry) interrupt(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id == "" {
		for _, j := range n.jobs {
			j.cancel()
		}
		return
	}
	if j := n.jobs[id]; j != nil {
		j.cancel()
	}
}

// use says which job has its turn; when none has, the time to close runs.
func (n *entry) use(j *job) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current = j
	if n.idle != nil {
		n.idle.Stop()
	}
	if j == nil {
		n.used, n.held = time.Now(), n.runtime != nil
		n.idle = time.AfterFunc(n.s.Keep, n.expire)
	}
}

// expire closes a notebook that nobody used for long.
func (n *entry) expire() {
	n.turn.Lock()
	defer n.turn.Unlock()
	n.mu.Lock()
	busy := time.Since(n.used) < n.s.Keep // a job came in between
	n.mu.Unlock()
	if busy {
		return
	}
	_ = n.shut(context.Background()) // nobody is there to be told
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = false
	n.forgetAll()
}

// ready is the runtime, made if there is none.
func (n *entry) ready() (notebook.Runtime, error) {
	if n.runtime != nil {
		return n.runtime, nil
	}
	r, err := n.s.Open(Place{Tenant: n.at.tenant, Name: n.at.name, Dir: n.dir, Env: n.env, Secret: n.secret, LLM: n.ask})
	if err == nil {
		n.runtime = r
	}
	return r, err
}

// settle takes the environment that a client wants. A process that has another
// one is ended, with its variables saved.
func (n *entry) settle(ctx context.Context, want wire.Job) error {
	if slices.Equal(n.env, want.Env) && slices.Equal(n.secret, want.Secret) {
		return nil
	}
	err := n.shut(ctx)
	n.env, n.secret = want.Env, want.Secret
	return err
}

func (n *entry) shut(ctx context.Context) error {
	if n.runtime == nil {
		return nil
	}
	r := n.runtime
	n.runtime = nil
	return r.Close(ctx)
}

// closeFor closes the runtime; what its client gave it is forgotten.
func (n *entry) closeFor(j *job) error {
	err := n.shut(j.ctx)
	n.env, n.secret = nil, nil
	return err
}

// remove deletes the environment and the folder.
func (n *entry) remove(ctx context.Context) error {
	if err := n.runtime.Remove(ctx); err != nil {
		return err
	}
	n.runtime, n.env, n.secret = nil, nil, nil
	return os.RemoveAll(n.dir)
}

// close ends a notebook for good.
func (n *entry) close(ctx context.Context) error {
	n.turn.Lock()
	defer n.turn.Unlock()
	err := n.shut(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.idle != nil {
		n.idle.Stop()
	}
	for _, j := range n.jobs {
		j.drop()
	}
	return err
}

// ask asks the client of the cell that runs; it is a [notebook.LLM].
func (n *entry) ask(ctx context.Context, q notebook.Question) (notebook.Completion, error) {
	n.mu.Lock()
	j := n.current
	n.mu.Unlock()
	if j == nil {
		return notebook.Completion{}, errors.New("no cell is running")
	}
	got, err := j.ask(ctx, q)
	switch {
	case err != nil:
		return notebook.Completion{}, err
	case got.Completion != nil:
		return *got.Completion, nil
	case q.Prompt != nil:
		return notebook.Completion{}, errors.New("the client gave no answer")
	}
	return notebook.Completion{Text: got.Text}, nil
}
