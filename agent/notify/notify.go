// Package notify tells people what they should know of a home that nobody looks
// at, once: that it began to fail, that it now fails for another cause, that it
// works again, that it stopped at a limit, is paused, missed a slot or waits for
// somebody. [Heartbeat] is for what it can no longer tell.
//
// What is to be told is first put into a small file, logs/notify.json, and then
// delivered to each sink; how that went is the message's own status, and no
// concern of the cycle's. A delivery that failed is tried again at later wakes.
// One whose process died on the way has an unknown outcome and is not repeated.
// What is more than a line is a [Message], which goes the same way.
// Where that file cannot be written, as on a full disk, sinks are told at once, and
// [Once] remembers it. Without sinks no file is opened.
package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"rouse/agent/pause"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/journal"
)

// Kinds of events.
const (
	Failed    = "failed"    // a cycle failed, the first time
	Changed   = "changed"   // cycles still fail, for another cause
	Recovered = "recovered" // a cycle is done again
	Limit     = "limit"     // a limit was reached
	Paused    = "paused"    // no cycles start until a person or a time ends it
	Missed    = "missed"    // slots passed without a cycle
	Waiting   = "waiting"   // something waits for a person
	Approval  = "approval"  // a call waits for a yes, or nobody knows what came of it
	Edited    = "edited"    // somebody else changed a file of the home
	Blocked   = "blocked"   // for long no cycle could wake, as somebody holds the home
	Freed     = "freed"     // that is over
)

// Event is what a sink is given, as JSON.
type Event struct {
	ID    string    `json:"id"` // of this event, for sinks that sort out repetitions
	Kind  string    `json:"kind"`
	Home  string    `json:"home"`
	Cycle string    `json:"cycle,omitempty"`
	Time  time.Time `json:"time"`
	// Subject, HTML and Attachments are of a message, whose text may have many lines.
	Subject     string       `json:"subject,omitempty"`
	Text        string       `json:"text"` // one line of an event
	HTML        string       `json:"html,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Since and Count tell of the failures before a change or a recovery.
	Since *time.Time `json:"since,omitempty"`
	Count int        `json:"count,omitempty"`
}

// Sink takes events and messages: one of its kinds is set.
type Sink struct {
	Name    string   `yaml:"name"`    // by which messages are sent to it; "" is its kind
	Quiet   bool     `yaml:"quiet"`   // gets nothing but messages that are sent to it by name
	Command []string `yaml:"command"` // a program and its arguments, gets the event on its standard input
	File    string   `yaml:"file"`    // gets it as a line; relative to the home
	Mail    *Mail    `yaml:"mail"`
	Webhook *Webhook `yaml:"webhook"`
}

// Variable names what holds its secret, "" without one.
func (s Sink) Variable() string {
	switch {
	case s.Mail != nil:
		return s.Mail.PasswordEnv
	case s.Webhook != nil:
		return s.Webhook.SecretEnv
	}
	return ""
}

// kind is the key that says what a sink is, "" where not one does.
func (s Sink) kind() string {
	var kinds []string
	for kind, set := range map[string]bool{"command": len(s.Command) > 0, "file": s.File != "", "mail": s.Mail != nil, "webhook": s.Webhook != nil} {
		if set {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		return ""
	}
	return kinds[0]
}

// about is what a sink is called, with its kind.
func (s Sink) about() string {
	whom := ""
	if s.Mail != nil {
		whom = strings.Join(s.Mail.To, ", ")
	}
	return s.kind() + " " + cmp.Or(s.Name, s.File, strings.Join(s.Command, " "), whom, s.Webhook.host())
}

// Check says what is wrong with a sink of a list.
func Check(sinks []Sink, i int) error {
	s := sinks[i]
	unique := s.Name != "" || s.Mail != nil || s.Webhook != nil // equal commands were never refused
	switch {
	case s.kind() == "" || len(s.Command) > 0 && s.Command[0] == "":
		return errors.New("each entry is {command: [program, argument]}, {file: path}, {mail: {…}} or {webhook: {…}}")
	case unique && slices.ContainsFunc(sinks[:i], func(other Sink) bool { return s.about() == other.about() }):
		return fmt.Errorf("another one is called %s, too: give it a name of its own", s.about())
	case s.Mail != nil:
		return s.Mail.check()
	case s.Webhook != nil && s.Webhook.host() == "":
		return errors.New("webhook: url is an http or https address") // which may hold a password
	}
	return nil
}

// name is what a sink is called in the state.
func (n *Notifier) name(s Sink) string { return n.Redact.String(s.about()) }

// Notifier tells of one home. Its fields are set once.
type Notifier struct {
	Path   string // where it keeps whom it told; its lock file stands beside it
	Home   string
	Sinks  []Sink
	Runner *proc.Runner        // starts the commands
	Redact *redact.Redactor    // nil hides nothing
	Once   Once                // what was told where Path cannot be kept
	Getenv func(string) string // has the secrets of sinks
	Roots  *x509.CertPool      // whose certificates count; nil is the system's
	Disk   disk.FS             // nil is the machine's
	Now    func() time.Time    // nil is time.Now
}

// Outcome is how a cycle ended.
type Outcome struct {
	Cycle   string // "" if it could not even wake
	Outcome string // one of the outcomes of package journal
	Error   string
}

// Cycle puts down what is to be told of a cycle that ended: a failure or a limit
// that is new, or that all is well again. A cycle that a signal ended, or that
// had nothing to do, proves neither.
func (n *Notifier) Cycle(ctx context.Context, o Outcome) error {
	switch o.Outcome {
	case journal.Failed, journal.Limited, journal.Lost:
		return n.put(ctx, func(s *state) bool { return n.failed(s, o) })
	case journal.Done:
		return n.update(ctx, func(s *state) bool { return n.recovered(s, o) })
	}
	return nil
}

// Tell puts down an event of another kind, unless one with this key was put down
// before: the key names what happened, such as a slot that was missed.
func (n *Notifier) Tell(ctx context.Context, kind, key, text string) error {
	return n.put(ctx, func(s *state) bool {
		if !s.news(key) {
			return false
		}
		n.tell(s, Event{Kind: kind, Text: text})
		return true
	})
}

// failed opens an incident, or changes it.
func (n *Notifier) failed(s *state, o Outcome) bool {
	cause := o.Outcome + ": " + pause.Cause(n.Redact.String(o.Error))
	e := Event{Kind: Failed, Cycle: o.Cycle, Text: fmt.Sprintf("cycle %s failed: %s", o.Cycle, o.Error)}
	if o.Cycle == "" {
		e.Text = "no cycle can begin: " + o.Error
	}
	if o.Outcome == journal.Lost && o.Cycle != "" {
		e.Text = fmt.Sprintf("cycle %s was ended: %s. Another worker may have the home: it goes on from what this one handed on, repeats no call and names the one that may have run; what is left here counts for nothing", o.Cycle, o.Error)
	}
	if o.Outcome == journal.Limited {
		e.Kind, e.Text = Limit, fmt.Sprintf("cycle %s stopped at a limit: %s", o.Cycle, o.Error)
	}
	switch i := s.Incident; {
	case i == nil:
		s.Incident = &incident{Cause: cause, Since: n.now(), Count: 1}
	case i.Cause == cause:
		i.Count++
		return true
	default:
		if e.Kind == Failed {
			e.Kind = Changed
		}
		e.Since, e.Count = &i.Since, i.Count
		i.Cause, i.Count = cause, i.Count+1
	}
	n.tell(s, e)
	return true
}

// recovered closes an incident.
func (n *Notifier) recovered(s *state, o Outcome) bool {
	i := cmp.Or(s.Incident, n.open())
	if i == nil {
		return false
	}
	s.Incident = nil
	n.tell(s, Event{
		Kind: Recovered, Cycle: o.Cycle, Since: &i.Since, Count: i.Count,
		Text: fmt.Sprintf("cycle %s is done; %d before it were not, since %s", o.Cycle, i.Count, i.Since.Format("2006-01-02 15:04")),
	})
	return true
}

// open is an incident that could not be kept, nil for none; it is over then.
func (n *Notifier) open() *incident {
	info, err := os.Lstat(n.openPath())
	if err != nil || n.disk().Remove(n.openPath()) != nil {
		return nil
	}
	return &incident{Since: info.ModTime(), Count: 1}
}

// leaveOpen remembers an incident that cannot be kept.
func (n *Notifier) leaveOpen(kind string) {
	if kind != Failed && kind != Changed && kind != Limit {
		return
	}
	if f, err := n.disk().OpenFile(n.openPath(), os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
}

// openPath is an empty file, which also a full disk takes.
func (n *Notifier) openPath() string { return strings.TrimSuffix(n.Path, ".json") + ".open" }

// maxText bounds the text of an event, in characters.
const maxText = 1000

// tell puts an event down for each sink that is told of events.
func (n *Notifier) tell(s *state, e Event) {
	all, _ := Reach(n.Sinks, nil)
	e.Text = text.Brief(n.Redact.String(e.Text), maxText-1) // with the mark of a cut
	n.queue(s, e, all)
}

// queue puts down what these sinks are to be given.
func (n *Notifier) queue(s *state, e Event, sinks []Sink) {
	e.ID, e.Home, e.Time = rand.Text()[:12], n.Redact.String(n.Home), n.now()
	m := Status{Event: e}
	for _, sink := range sinks {
		m.Deliveries = append(m.Deliveries, Delivery{Sink: n.name(sink), Status: ToSend, Next: e.Time})
	}
	s.Messages = append(s.Messages, m)
	s.forget()
}

func (n *Notifier) now() time.Time { return clock.Now(n.Now) }

func (n *Notifier) disk() disk.FS { return disk.Or(n.Disk) }
