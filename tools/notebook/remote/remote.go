package remote

import (
	"context"
	"errors"
	"io"
	"time"

	"rouse/internal/sse"
	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// endTime is how long Close, Reset and Remove may take once their context has
// ended, and a job that was canceled.
const endTime = 20 * time.Second

// Runtime is one notebook on the server; it is a [notebook.Runtime].
type Runtime struct {
	c    *Client
	name string

	started string   // the run of the server that knows our environment
	seen    string   // the last job that is done
	notes   []string // to be told to the next cell

	turns notebook.Turns
}

// Open makes the Runtime of the notebook of that name. Nothing is sent.
func (c *Client) Open(name string) (*Runtime, error) {
	if err := notebook.CheckName(name); err != nil {
		return nil, err
	}
	c.once.Do(c.begin)
	return &Runtime{c: c, name: name}, nil
}

// Cancel is as [notebook.Runtime] says.
func (r *Runtime) Cancel() { r.turns.Cancel() }

// Start is as [notebook.Runtime] says.
func (r *Runtime) Start(ctx context.Context) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	return r.start(ctx)
}

// start tells the server our environment, once in each of its runs.
func (r *Runtime) start(ctx context.Context) error {
	for range 3 { // a server that is restarted on and on is left
		_, instance, err := r.c.connect(ctx)
		if err != nil {
			return err
		}
		if r.started == instance {
			return nil
		}
		err = r.do(ctx, wire.Start, wire.Job{Env: r.c.Env, Secret: r.c.Secret})
		if errors.Is(err, errRestarted) {
			continue
		}
		if err != nil {
			return err
		}
		if r.started != "" {
			r.notes = append(r.notes, "the notebook server was restarted: variables that it could not save are gone; installed packages and files are kept")
		}
		r.started = instance
		return nil
	}
	return errRestarted
}

// Execute is as [notebook.Runtime] says. Nobody is told of the process, as it is
// not one of this machine.
func (r *Runtime) Execute(ctx context.Context, job notebook.Job, emit func(notebook.Event)) (notebook.Outcome, error) {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	want := wire.Job{Number: job.Number, Code: job.Code, Estimate: job.Estimate.Seconds()}
	for range 3 {
		if err := r.start(ctx); err != nil {
			return notebook.Outcome{}, err
		}
		last, err := r.follow(ctx, wire.Execute, want, emit)
		switch {
		case errors.As(err, new(*unknown)):
			return r.unknown(err), nil
		case errors.Is(err, errRestarted):
			continue // before the cell got there
		case err != nil:
			return notebook.Outcome{}, err
		case last.Name == wire.EventDone:
			return notebook.Outcome{}, doneError(last)
		}
		return r.outcome(last), nil
	}
	return notebook.Outcome{}, errRestarted
}

// unknown is the outcome of a cell of which nothing more is known.
func (r *Runtime) unknown(err error) notebook.Outcome {
	notes := r.notes
	r.notes = nil
	return notebook.Outcome{Ended: notebook.Died, Error: err.Error(), Notes: notes, Lost: true}
}

func (r *Runtime) outcome(e sse.Event) notebook.Outcome {
	var out notebook.Outcome
	if err := decode(e.Data, &out); err != nil {
		return r.unknown(&unknown{err})
	}
	out.Notes = append(r.notes, out.Notes...)
	r.notes = nil
	return out
}

// Install is as [notebook.Runtime] says.
func (r *Runtime) Install(ctx context.Context, packages []string, log io.Writer) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	if err := r.start(ctx); err != nil {
		return err
	}
	last, err := r.follow(ctx, wire.Install, wire.Job{Packages: packages}, func(e notebook.Event) { log.Write(e.Data) })
	if err != nil {
		return err
	}
	return doneError(last)
}

// Reset is as [notebook.Runtime] says.
func (r *Runtime) Reset(ctx context.Context) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	r.notes = nil
	return r.do(ctx, wire.Reset, wire.Job{})
}

// Close is as [notebook.Runtime] says.
func (r *Runtime) Close(ctx context.Context) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	if r.started == "" {
		return nil
	}
	err := r.do(ctx, wire.Close, wire.Job{Save: ctx.Err() == nil})
	if errors.Is(err, errRestarted) {
		err = nil // it saved when it stopped, or there is nothing to save
	}
	r.started = ""
	return err
}

// Remove is as [notebook.Runtime] says.
func (r *Runtime) Remove(ctx context.Context) error {
	ctx, done := r.turns.Begin(ctx)
	defer done()
	r.started, r.notes = "", nil
	return r.do(ctx, wire.Remove, wire.Job{})
}

// do does a job that says nothing.
func (r *Runtime) do(ctx context.Context, action string, want wire.Job) error {
	last, err := r.follow(ctx, action, want, func(notebook.Event) {})
	if err != nil {
		return err
	}
	return doneError(last)
}

// doneError is the error that a job ended with.
func doneError(e sse.Event) error {
	if e.Name == wire.EventCell {
		return context.Canceled // before it began
	}
	var d wire.Done
	if err := decode(e.Data, &d); err != nil {
		return err
	}
	if d.Error != "" {
		return errors.New(d.Error)
	}
	return nil
}
