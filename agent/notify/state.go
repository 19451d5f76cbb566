package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
)

const (
	maxTold     = 500 // keys that are remembered
	maxMessages = 100 // that are remembered, delivered or not
)

// state is what notify.json holds.
type state struct {
	V        int       `json:"v"`
	Incident *incident `json:"incident,omitempty"`
	Told     []string  `json:"told,omitempty"`  // keys of [Notifier.Tell]
	Tasks    []task    `json:"tasks,omitempty"` // that failed
	Messages []Status  `json:"messages,omitempty"`
}

// incident is a row of cycles that did not end well.
type incident struct {
	Cause string    `json:"cause"`
	Since time.Time `json:"since"`
	Count int       `json:"count"`
}

// Status is an event and how far it was delivered.
type Status struct {
	Event      Event      `json:"event"`
	Deliveries []Delivery `json:"deliveries"`
}

// Delivery is how far a sink was told of an event.
type Delivery struct {
	Sink     string        `json:"sink"`
	Status   string        `json:"status"`
	Attempts int           `json:"attempts"`
	Next     time.Time     `json:"next,omitzero"` // of another attempt
	Error    string        `json:"error,omitempty"`
	Owner    proc.Identity `json:"owner,omitzero"` // who is sending it
}

// Statuses of a delivery.
const (
	ToSend  = "to send"
	Sending = "sending"
	Sent    = "sent"
	Unknown = "unknown" // whoever sent it died on the way
	GivenUp = "given up"
)

func (d Delivery) open() bool { return d.Status == ToSend || d.Status == Sending }

// to says whether a message goes to the sink of this name.
func (m Status) to(sink string) bool {
	return slices.ContainsFunc(m.Deliveries, func(d Delivery) bool { return d.Sink == sink })
}

func (m Status) open() bool { return slices.ContainsFunc(m.Deliveries, Delivery.open) }

// deliveries are all deliveries, to be changed, each with its event.
func (s *state) deliveries() iter.Seq2[Event, *Delivery] {
	return func(yield func(Event, *Delivery) bool) {
		for _, m := range s.Messages {
			for i := range m.Deliveries {
				if !yield(m.Event, &m.Deliveries[i]) {
					return
				}
			}
		}
	}
}

// news says whether a key was not told yet, and counts it as told.
func (s *state) news(key string) bool {
	if slices.Contains(s.Told, key) {
		return false
	}
	s.Told = append(s.Told, key)
	s.Told = s.Told[max(0, len(s.Told)-maxTold):]
	return true
}

// forget drops the oldest messages: first those that are delivered.
func (s *state) forget() {
	for len(s.Messages) > maxMessages {
		oldest := slices.IndexFunc(s.Messages, func(m Status) bool { return !m.open() })
		s.Messages = slices.Delete(s.Messages, max(0, oldest), max(0, oldest)+1)
	}
}

// load reads the state; one that is not there, or that somebody spoilt, is empty.
func (n *Notifier) load() (state, error) {
	data, err := os.ReadFile(n.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return state{}, err
	}
	var s state
	if json.Unmarshal(data, &s) != nil || s.V != 1 {
		return state{V: 1}, nil
	}
	return s, nil
}

// update changes the state, while no other process does, if change says so.
func (n *Notifier) update(ctx context.Context, change func(*state) bool) error {
	if len(n.Sinks) == 0 {
		return nil
	}
	unlock, err := disk.LockBeside(ctx, n.Path, disk.Patient)
	if err != nil {
		return fmt.Errorf("notify: lock: %w", err)
	}
	defer unlock()
	s, err := n.load()
	if err == nil && change(&s) {
		err = n.save(s)
	}
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

func (n *Notifier) save(s state) error {
	s.lighten()
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return disk.Replace(n.disk(), n.Path, append(data, '\n'), 0o600)
}

// Recent lists the newest events, the newest last, as `rouse status` may show
// those that somebody was not told of.
func (n *Notifier) Recent() ([]Status, error) {
	s, err := n.load()
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	return s.Messages, nil
}
