package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rouse/internal/disk"
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
	Key     string
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

// Letter is what a sink is given, as JSON: an event, or a message, whose text may have
// many lines.
type Letter struct {
	Event
	HTML        string       `json:"html,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// maxLetter bounds text, HTML and attachments together, in bytes.
const maxLetter = 10 << 20

// Reach gives the sinks of these names, where one without a name goes by its kind. Of no
// names it is all sinks but the quiet ones.
func Reach(sinks []Sink, names []string) (list []Sink, err error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(sinks), func(s Sink) bool { return s.Quiet }), nil
	}
	for _, name := range names {
		n := len(list)
		for _, s := range sinks {
			if cmp.Or(s.Name, s.kind()) == name {
				list = append(list, s)
			}
		}
		if len(list) == n {
			return nil, fmt.Errorf("no sink of notify is called %q; give one that name, as in {name: %s, file: told.jsonl}", name, name)
		}
	}
	return list, nil
}

// Send puts down a message for its sinks, unless one of its key was put down before;
// [Notifier.Deliver] sends it. Until it is sent, what it says is in a file of its own.
func (n *Notifier) Send(ctx context.Context, m Message) error {
	sinks, err := Reach(n.Sinks, m.To)
	if err != nil {
		return err
	}
	l := Letter{HTML: n.Redact.String(m.HTML), Event: Event{
		Kind: m.Kind, Cycle: m.Cycle, Subject: text.Line(n.Redact.String(cmp.Or(m.Subject, m.Kind)), maxSubject), Text: n.Redact.String(m.Text),
	}}
	size := len(l.HTML) + len(l.Text)
	for _, a := range m.Attachments {
		l.Attachments = append(l.Attachments, Attachment{n.Redact.String(a.Name), []byte(n.Redact.String(string(a.Data)))})
		size += len(a.Data)
	}
	if size > maxLetter {
		return fmt.Errorf("%s: %d MiB, where at most %d are sent", l.Subject, size>>20, maxLetter>>20)
	}
	return n.put(ctx, func(s *state) bool {
		if m.Key != "" && !s.news(m.Key) {
			return false
		}
		n.queue(s, l, sinks)
		return true
	})
}

// maxSubject bounds the subject of a message, in characters.
const maxSubject = 200

// letters is the folder of what is to be sent, and letterPath the file of one message.
func (n *Notifier) letters() string { return strings.TrimSuffix(n.Path, ".json") }

func (n *Notifier) letterPath(id string) string { return filepath.Join(n.letters(), id+".json") }

// keep writes down what new messages say, before the state has them.
func (n *Notifier) keep(s state) error {
	for _, m := range s.Messages {
		if m.letter == nil || m.letter.Subject == "" {
			continue
		}
		data, err := json.Marshal(m.letter)
		if err == nil {
			err = n.disk().MkdirAll(n.letters(), 0o700)
		}
		if err == nil {
			err = disk.Replace(n.disk(), n.letterPath(m.Event.ID), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// letter is what a sink is given of what the state has.
func (n *Notifier) letter(m Status) (l Letter, err error) {
	if m.letter != nil {
		return *m.letter, nil
	}
	if m.Event.Subject == "" {
		return Letter{Event: m.Event}, nil
	}
	data, err := disk.ReadSmall(n.letterPath(m.Event.ID), 8*maxLetter)
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		err = fmt.Errorf("what it says is lost: %w", err)
	}
	return l, err
}

// throwAway removes what messages said that are sent, or forgotten.
func (n *Notifier) throwAway(s state) {
	if !slices.ContainsFunc(s.Messages, func(m Status) bool { return m.Event.Subject != "" }) {
		return
	}
	entries, _ := os.ReadDir(n.letters())
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), ".json")
		if !slices.ContainsFunc(s.Messages, func(m Status) bool { return m.Event.ID == id && m.open() }) {
			_ = n.disk().Remove(filepath.Join(n.letters(), e.Name())) // else the next time
		}
	}
}
