package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"rouse/internal/text"
)

// Kinds of messages.
const (
	Report = "report" // what happened in a time
	Result = "result" // a file that a cycle made
)

// Message is something to be sent that is no event.
type Message struct {
	// Key says what it is: of one key one message is sent. "" is sent in any case.
	Key string
	// Sum names what it says, for [Notifier.Sent]; "" is not remembered.
	Sum     string
	Kind    string
	Cycle   string // which it is about, "" for none
	Subject string // one line
	Text    string
	HTML    string // the same for who can read that, "" for none
	// Attachments go with it; what they are is told by their names.
	Attachments []Attachment
	// To are the sinks, as [Reach] has them.
	To []string
}

// Attachment is a file that goes with a message.
type Attachment struct {
	Name string `json:"name"`
	Data []byte `json:"data"` // base64 in JSON
}

const (
	maxSubject = 200            // of a message, in characters
	maxWaiting = 2 * MaxMessage // of all that wait
)

// MaxMessage bounds text, HTML and attachments together, in bytes.
const MaxMessage = 8 << 20

func (e Event) size() int {
	n := len(e.Text) + len(e.HTML)
	for _, a := range e.Attachments {
		n += len(a.Data)
	}
	return n
}

// Reach gives the sinks of these names, where one without a name goes by its kind. Of no
// names it is all sinks but the quiet ones. None is there twice.
func Reach(sinks []Sink, names []string) ([]Sink, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(sinks), func(s Sink) bool { return s.Quiet }), nil
	}
	called := func(names ...string) func(Sink) bool {
		return func(s Sink) bool { return slices.Contains(names, cmp.Or(s.Name, s.kind())) }
	}
	for _, name := range names {
		if !slices.ContainsFunc(sinks, called(name)) {
			return nil, fmt.Errorf("no sink of notify is called %q; give one that name, as in {name: %s, file: told.jsonl}", name, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(sinks), func(s Sink) bool { return !called(names...)(s) }), nil
}

// Send puts down a message for its sinks, unless one of its key was put down before;
// [Notifier.Deliver] sends it.
func (n *Notifier) Send(ctx context.Context, m Message) error {
	sinks, err := Reach(n.Sinks, m.To)
	if err != nil {
		return err
	}
	e := Event{
		Kind: m.Kind, Cycle: m.Cycle, Subject: text.Line(n.Redact.String(cmp.Or(m.Subject, m.Kind)), maxSubject),
		Text: n.Redact.String(m.Text), HTML: n.Redact.String(m.HTML),
	}
	for _, a := range m.Attachments {
		e.Attachments = append(e.Attachments, Attachment{n.Redact.String(a.Name), []byte(n.Redact.String(string(a.Data)))})
	}
	if size := e.size(); size > MaxMessage {
		return fmt.Errorf("%s: %d bytes, where at most %d are sent", e.Subject, size, MaxMessage)
	}
	return n.put(ctx, func(s *state) bool {
		if m.Key != "" && !s.news(m.Key) {
			return false
		}
		_ = m.Sum == "" || s.news(m.Sum)
		n.queue(s, e, sinks)
		return true
	})
}

// Sent says whether the newest messages had this sum.
func (n *Notifier) Sent(sum string) bool {
	s, _ := n.load() // what cannot be read was not sent
	return slices.Contains(s.Told, sum)
}

// Unsent puts down that there is nothing to be sent of a message, and tells people of it
// once a day.
func (n *Notifier) Unsent(ctx context.Context, m Message, why error) error {
	sinks, _ := Reach(n.Sinks, m.To) // as they were checked
	return n.put(ctx, func(s *state) bool {
		if !s.news(m.Key) {
			return false
		}
		n.queue(s, Event{Kind: m.Kind, Cycle: m.Cycle, Text: n.Redact.String(m.Subject)}, sinks)
		said, list := n.Redact.String(why.Error()), s.Messages[len(s.Messages)-1].Deliveries
		for i := range list {
			list[i] = Delivery{Sink: list[i].Sink, Status: GivenUp, Error: said}
		}
		if s.news("unsent " + m.Subject + said + n.now().Format(time.DateOnly)) {
			n.tell(s, Event{Kind: Failed, Cycle: m.Cycle, Text: m.Subject + " is not sent: " + said})
		}
		return true
	})
}

// lighten drops what messages said that are over. Where too much waits, the oldest are
// given up.
func (s *state) lighten() {
	size := 0
	for i, m := range slices.Backward(s.Messages) {
		if m.Event.Subject == "" {
			continue
		}
		size += m.Event.size()
		for j := range m.Deliveries {
			if d := &m.Deliveries[j]; d.Status == ToSend && size > maxWaiting {
				d.Status, d.Error = GivenUp, "too much waits to be sent"
			}
		}
		if e := &s.Messages[i].Event; !m.open() {
			e.Text, e.HTML, e.Attachments = e.Subject, "", nil
		}
	}
}
