package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rouse/internal/jsonl"
	"rouse/internal/proc"
	"rouse/internal/text"
)

const (
	commandTime = 30 * time.Second // of one command
	deliverTime = time.Minute      // of all that is delivered at once
	firstWait   = time.Minute      // before the second attempt; then twice as long
	longestWait = 6 * time.Hour
	maxAttempts = 12 // which take about a day
	maxOutput   = 64 << 10
	maxError    = 300 // of what a command says when it fails, in characters
)

// Deliver hands to the sinks what is due, in a bounded time. What it could not
// deliver has a status that says so; the error is for a state that cannot be
// kept. Nothing is delivered before it is durably marked as being sent.
func (n *Notifier) Deliver(ctx context.Context) error {
	if len(n.Sinks) == 0 {
		return nil
	}
	if _, err := os.Stat(n.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	for ctx.Err() == nil {
		e, sink, ok, err := n.take(ctx)
		if err != nil || !ok {
			return err
		}
		if err := n.settle(e.ID, sink, n.send(ctx, e, sink)); err != nil {
			return err
		}
	}
	return nil
}

// put puts down what is to be told. Where that cannot be kept, as on a full disk, the
// sinks are told at once, and again at the next occasion where none of them took it.
func (n *Notifier) put(ctx context.Context, change func(*state) bool) error {
	err := n.update(ctx, change)
	if err == nil {
		return nil
	}
	s, _ := n.load() // an incident of before is told already
	s.Messages = nil
	change(&s)
	ctx, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	for _, m := range s.Messages {
		if n.Once.Said(m.Event.Text) {
			continue
		}
		for _, sink := range n.Sinks {
			if m.to(n.name(sink)) && n.send(ctx, m.Event, sink) == nil {
				n.Once.Say(m.Event.Text)
				n.leaveOpen(m.Event.Kind)
			}
		}
	}
	return err
}

// take marks the first delivery that is due as being sent by this process.
func (n *Notifier) take(ctx context.Context) (e Event, sink Sink, ok bool, err error) {
	self := proc.Self()
	err = n.update(ctx, func(s *state) (changed bool) {
		for event, d := range s.deliveries() {
			if d.Status == Sending && !d.Owner.Alive() {
				d.Status, changed = Unknown, true
			}
			wait := d.Next.Sub(n.now())
			if d.Status != ToSend || wait > 0 && wait <= longestWait { // a longer one is of a clock that was set back
				continue
			}
			at := slices.IndexFunc(n.Sinks, func(s Sink) bool { return n.name(s) == d.Sink })
			if at < 0 {
				d.Status, d.Error, changed = GivenUp, "no longer in rouse.yaml", true
				continue
			}
			d.Status, d.Attempts, d.Owner = Sending, d.Attempts+1, self
			e, sink, ok = event, n.Sinks[at], true
			return true
		}
		return changed
	})
	return e, sink, ok && err == nil, err
}

// settle records how a delivery went. It waits for the lock although the cycle
// may have been told to end.
func (n *Notifier) settle(id string, sink Sink, failed error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return n.update(ctx, func(s *state) bool {
		for event, d := range s.deliveries() {
			if event.ID == id && d.Sink == n.name(sink) && d.Status == Sending {
				n.conclude(d, failed)
			}
		}
		return true
	})
}

func (n *Notifier) conclude(d *Delivery, failed error) {
	d.Owner, d.Error, d.Next = proc.Identity{}, "", time.Time{}
	switch {
	case failed == nil:
		d.Status = Sent
		return
	case d.Attempts >= maxAttempts, errors.As(failed, new(permanent)):
		d.Status = GivenUp
	default:
		d.Status = ToSend
		d.Next = n.now().Add(min(firstWait<<(d.Attempts-1), longestWait))
	}
	d.Error = text.Line(n.Redact.String(failed.Error()), 2*maxError)
}

func (n *Notifier) send(ctx context.Context, e Event, sink Sink) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	switch data = append(data, '\n'); {
	case sink.Mail != nil:
		return n.converse(ctx, sink.Mail, &e)
	case sink.Webhook != nil:
		return n.post(ctx, sink.Webhook, e.ID, data)
	case sink.File != "":
		return n.write(sink.File, data)
	}
	return n.run(ctx, sink.Command, data)
}

// run gives the event to a command, in the home.
func (n *Notifier) run(ctx context.Context, argv []string, event []byte) error {
	var said bytes.Buffer
	clean := n.Redact.Writer(&said) // what may begin a secret at the end is left out
	exit, err := n.Runner.Run(ctx, proc.Command{
		Argv: argv, Dir: n.Home, Stdin: bytes.NewReader(event),
		Stdout: clean, Stderr: clean, Timeout: commandTime, MaxOutput: maxOutput,
	})
	switch {
	case err != nil:
		return err
	case exit.OK():
		return nil
	}
	return fmt.Errorf("%s: %s", exit, text.Brief(said.String(), maxError))
}

// write appends the event to a file, durably.
func (n *Notifier) write(file string, text []byte) error {
	path, err := regular(n.Home, file)
	if err != nil {
		return err
	}
	return jsonl.Append(n.disk(), path, text, true)
}

// regular is the path of a file that may be relative to the home. One that is there
// must not be a FIFO, which would be waited for.
func regular(dir, file string) (string, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	return file, nil
}
