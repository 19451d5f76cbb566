// Package approval keeps the calls that wait for a person, in approvals.yaml of a home.
//
// The file is a person's to read and to edit: comments, and keys that are not known here,
// stay. It is changed under a lock, as people answer while a cycle is awake, and one that
// cannot be read is never replaced.
package approval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/internal/yamlerror"
	"rouse/scratchpad/origin"
)

// Entry is a call that a person is asked about. Its JSON is that of `rouse approvals`.
type Entry struct {
	ID       string    `yaml:"id" json:"id"`
	Asked    time.Time `yaml:"asked" json:"asked"`
	Expires  time.Time `yaml:"expires" json:"expires"`
	Cycle    string    `yaml:"cycle" json:"cycle"`
	Tool     string    `yaml:"tool" json:"tool"`
	Args     string    `yaml:"args" json:"args"`     // JSON, as it will be carried out
	SHA256   string    `yaml:"sha256" json:"sha256"` // [Sum] of tool and args
	Schema   string    `yaml:"schema" json:"schema"` // that of what the tool takes
	Rule     string    `yaml:"rule" json:"rule"`
	Said     string    `yaml:"said,omitempty" json:"said"` // the model's reason
	Origin   []string  `yaml:"origin,omitempty,flow" json:"origin"`
	Read     []string  `yaml:"read,omitempty" json:"read"` // the calls before it
	Decision string    `yaml:"decision" json:"decision"`   // Approve, Deny or yet empty
	Why      string    `yaml:"why,omitempty" json:"why"`
	By       string    `yaml:"by,omitempty" json:"by"`
	At       time.Time `yaml:"at,omitempty" json:"at,omitzero"`
	// Carried is the cycle that set about to carry it out, which is done but once, and
	// Outcome what became of it, with the reason, once the model was told.
	Carried string `yaml:"carried,omitempty" json:"carried"`
	Outcome string `yaml:"outcome,omitempty" json:"outcome"`

	node *yaml.Node
}

// Decisions of a person.
const (
	Approve = "approve"
	Deny    = "deny"
)

// States of a call: the first two are before anybody was told what became of it.
const (
	Open       = "open"
	Approved   = "approved"
	Carried    = "carried"
	Unknown    = "unknown" // it was begun, and nobody knows what came of it
	Denied     = "denied"
	Expired    = "expired"
	Impossible = "impossible"
	Withdrawn  = "withdrawn"
)

// State is how it stands, in a word.
func (e *Entry) State(now time.Time) string {
	word, _, _ := strings.Cut(e.Outcome, ":")
	switch {
	case word != "":
		return word
	case e.Carried != "":
		return Unknown
	case e.Decision == Deny:
		return Denied
	case !now.Before(e.Expires):
		return Expired
	case e.Decision == Approve:
		return Approved
	}
	return Open
}

// Argument is one of a call: a text as it is, all else as JSON.
type Argument struct{ Name, Value string }

// Arguments are those of the call by their names, or all in one without a name.
func (e *Entry) Arguments() (list []Argument) {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(e.Args), &args) != nil {
		return []Argument{{"", e.Args}}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := string(args[name])
		_ = json.Unmarshal(args[name], &value) // of a text, the text
		list = append(list, Argument{name, value})
	}
	return list
}

// Call is what would be done, in a line.
func (e *Entry) Call() string { return text.Line(e.Tool, 64) + "(" + text.Line(e.Args, 300) + ")" }

// Told is a call as its agent is told of it later: what is in the arguments may have come
// from outside.
func (e Entry) Told() string {
	if len(origin.Set(e.Origin).Outside()) > 0 {
		return text.Line(e.Tool, 64) + "(…)"
	}
	return e.Call()
}

// Sum is the hash of texts that belong together.
func Sum(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}

// Bounds of the file.
const (
	maxOpen  = 500
	maxEnded = 1000 - maxOpen
	maxArgs  = 64 << 10
	maxText  = 2 << 20 // of which more can be asked
	maxBytes = 64 << 20
	keep     = 30 * 24 * time.Hour
	patience = 10 * time.Second
)

// File is the file of a home.
type File struct {
	Path, Lock string
	Disk       disk.FS          // nil is the machine's
	Now        func() time.Time // nil is time.Now
	Expire     time.Duration    // how long a call waits
}

// List is the file as it was read, the oldest call first.
type List struct {
	Entries []*Entry
	text    []byte
	doc     yaml.Node
	dirty   bool
}

// Load reads the file; decisions that were written by hand are by its owner.
func (f *File) Load() (*List, error) {
	l := &List{}
	err := l.read(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %s; mend it, nothing is asked or carried out meanwhile", filepath.Base(f.Path), yamlerror.Text(err))
	}
	return l, nil
}

func (l *List) read(path string) (err error) {
	if l.text, err = disk.ReadSmall(path, maxBytes); err == nil {
		err = yaml.Unmarshal(l.text, &l.doc)
	}
	if err != nil || len(l.doc.Content) == 0 {
		return err
	}
	if err := l.doc.Content[0].Decode(&l.Entries); err != nil {
		return err
	}
	info, err := os.Stat(path)
	seen := map[string]bool{"": true}
	for i, e := range l.Entries {
		node := l.doc.Content[0].Content[i]
		if e == nil || seen[e.ID] {
			return fmt.Errorf("line %d: every call has an id of its own", node.Line)
		}
		seen[e.ID], e.node = true, node
		switch e.Decision = strings.ToLower(e.Decision); {
		case e.Decision == "" || err != nil:
		case e.Decision != Approve && e.Decision != Deny:
			return fmt.Errorf("line %d: decision is approve or deny, not %s", node.Line, text.Quoted(e.Decision))
		case e.At.IsZero():
			e.By, e.At = "edit by "+owner(info), info.ModTime().Truncate(time.Second)
			l.Set(e)
		}
	}
	return err
}

// owner names whose file it is.
func owner(info fs.FileInfo) string {
	st, _ := info.Sys().(*syscall.Stat_t)
	uid := fmt.Sprint(st.Uid)
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}

// Find is the one call whose id begins so.
func (l *List) Find(prefix string) (found *Entry, err error) {
	for _, e := range l.Entries {
		if e.ID == prefix {
			return e, nil
		}
		if prefix != "" && strings.HasPrefix(e.ID, prefix) {
			if found != nil {
				err = fmt.Errorf("%s begins the ids of several calls", text.Quoted(prefix))
			}
			found = e
		}
	}
	if found == nil {
		err = fmt.Errorf("there is no call %s; rouse approvals lists them", text.Quoted(prefix))
	}
	return found, err
}

// Set puts what has changed of an entry into the file; comments stay.
func (l *List) Set(e *Entry) {
	l.dirty = true
	var fresh yaml.Node
	_ = fresh.Encode(e) // texts and times have a form
	for i := 0; i < len(fresh.Content); i += 2 {
		key, value := fresh.Content[i], fresh.Content[i+1]
		at := 0
		for at < len(e.node.Content) && e.node.Content[at].Value != key.Value {
			at += 2
		}
		if at >= len(e.node.Content) {
			e.node.Content = append(e.node.Content, key, value)
		} else if old := e.node.Content[at+1]; value.Kind == yaml.ScalarNode && old.Value != value.Value {
			old.Kind, old.Tag, old.Value, old.Style, old.Content = value.Kind, value.Tag, value.Value, value.Style, nil
		}
	}
}

// header begins a new file.
const header = "Calls that wait for a person: `rouse approvals` lists them, `rouse approvals approve ID`\n" +
	"or deny ID answers. Or write approve or deny behind decision, and why: below it."

func (l *List) add(e *Entry) {
	if len(l.doc.Content) == 0 || l.doc.Content[0].Kind != yaml.SequenceNode {
		l.doc = yaml.Node{Kind: yaml.DocumentNode, HeadComment: header, Content: []*yaml.Node{{Kind: yaml.SequenceNode}}}
	}
	e.node = &yaml.Node{Kind: yaml.MappingNode}
	l.Set(e)
	root := l.doc.Content[0]
	root.Style, root.Content, l.Entries = 0, append(root.Content, e.node), append(l.Entries, e)
}

// drop takes out what ended long ago, and the oldest of what is too much.
func (l *List) drop(now time.Time) {
	ended, size := 0, 0
	for i, e := range slices.Backward(l.Entries) {
		if e.Outcome == "" {
			continue
		}
		size += len(e.Args)
		if ended++; ended > maxEnded || size > maxText/2 || now.Sub(e.Expires) > keep {
			l.Entries, l.dirty = slices.Delete(l.Entries, i, i+1), true
			l.doc.Content[0].Content = slices.Delete(l.doc.Content[0].Content, i, i+1)
		}
	}
}

// Update changes the file under the lock; that is durable when it returns. An edit
// meanwhile is not lost: then it is done again.
func (f *File) Update(do func(*List) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	unlock, err := disk.Lock(ctx, f.Lock, disk.Patient)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(f.Path), err)
	}
	defer unlock()
	for {
		l, err := f.Load()
		if err == nil {
			err = do(l)
		}
		if err != nil {
			return err
		}
		if l.drop(f.Time()); !l.dirty {
			return nil
		}
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if err := errors.Join(enc.Encode(&l.doc), disk.Sweep(disk.Or(f.Disk), filepath.Dir(f.Path), filepath.Base(f.Path))); err != nil {
			return err
		}
		if now, _ := disk.ReadSmall(f.Path, maxBytes); bytes.Equal(now, l.text) {
			return disk.Replace(disk.Or(f.Disk), f.Path, b.Bytes(), 0o600)
		}
	}
}

// Park keeps a call for a person to answer, and gives its id; that of the same call where
// it waits already.
func (f *File) Park(e Entry) (id string, err error) {
	if len(e.Args) > maxArgs {
		return "", fmt.Errorf("its arguments have %d bytes, and nobody would read more than %d: write them to a file first", len(e.Args), maxArgs)
	}
	err = f.Update(func(l *List) error {
		now, open := f.Time(), 0
		e.Asked, e.Expires, e.SHA256 = now.Truncate(time.Second), now.Add(f.Expire).Truncate(time.Second), Sum(e.Tool, e.Args)
		for _, old := range l.Entries {
			state, same := old.State(now), old.SHA256 == e.SHA256 && old.Schema == e.Schema
			switch {
			case same && old.Decision == Deny && now.Before(old.Expires):
				return fmt.Errorf("%s was denied as %s, and is not asked again until %s", e.Tool, old.ID, old.Expires.Local().Format(time.DateTime))
			case state != Open && state != Approved:
				continue
			case same:
				id = old.ID
				return nil
			}
			open++
		}
		if open >= maxOpen || len(l.text) > maxText {
			return fmt.Errorf("%d calls wait for an answer already, in a file of %d bytes", open, len(l.text))
		}
		id = l.free(Sum(e.SHA256, e.Cycle, e.Asked.String()))
		e.ID = id
		l.add(&e)
		return nil
	})
	return id, err
}

// Withdraw ends all calls of which nobody was told, unless there is no file.
func (f *File) Withdraw(why string) error {
	if !disk.Exists(f.Path) {
		return nil
	}
	return f.Update(func(l *List) error {
		for _, e := range l.Entries {
			switch {
			case e.Outcome != "":
				continue
			case e.Carried != "":
				e.Outcome = Unknown + ": it was begun in cycle " + e.Carried + " and may have run"
			default:
				e.Outcome = Withdrawn + ": " + why
			}
			l.Set(e)
		}
		return nil
	})
}

// free is a short id that no other one begins with, of letters that make no word: to YAML
// digits may be a number.
func (l *List) free(sum string) string {
	sum = strings.Map(func(c rune) rune { return rune("bcdfghjkmnpqrstv"[strings.IndexRune("0123456789abcdef", c)]) }, sum)
	n := 6
	for n < len(sum) && slices.ContainsFunc(l.Entries, func(e *Entry) bool { return strings.HasPrefix(e.ID, sum[:n]) }) {
		n++
	}
	return sum[:n]
}

// Answer answers a call that is open. The first answer stays: the error says whose it is.
func (f *File) Answer(prefix, decision, by, why string) (*Entry, error) {
	return f.Reply(prefix, Reply{Decision: decision, By: by, Why: why})
}

// Reply is a person's answer. Seen, unless it is empty, is the [Entry.Shown] of what they
// were shown; a call that is another by now is not answered.
type Reply struct{ Decision, By, Why, Seen string }

// Shown is the hash of all that a person decides by.
func (e *Entry) Shown() string {
	return Sum(e.Tool, e.Args, e.SHA256, e.Rule, e.Said, strings.Join(e.Origin, "\n"), strings.Join(e.Read, "\n"))
}

// Edited says that the call is not the one that was asked: it is never carried out.
func (e *Entry) Edited() bool { return Sum(e.Tool, e.Args) != e.SHA256 }

// Reply answers a call that is open, as Answer does.
func (f *File) Reply(prefix string, r Reply) (e *Entry, err error) {
	if !disk.Exists(f.Path) {
		return (&List{}).Find(prefix)
	}
	err = f.Update(func(l *List) (err error) {
		if e, err = l.Find(prefix); err != nil {
			return err
		}
		if e.Decision != "" {
			return fmt.Errorf("%s has an answer already: %s by %s at %s", e.ID, e.Decision, text.Line(e.By, 80), e.At.Local().Format(time.DateTime))
		}
		if state := e.State(f.Time()); state != Open {
			return fmt.Errorf("%s is %s: there is nothing to answer", e.ID, state)
		}
		if r.Seen != "" && r.Seen != e.Shown() {
			return fmt.Errorf("%s is another call than the one that you were shown: look again", e.ID)
		}
		e.Decision, e.By, e.Why, e.At = r.Decision, r.By, r.Why, f.Time().Truncate(time.Second)
		l.Set(e)
		return nil
	})
	return e, err
}

// Time is the time by which calls expire.
func (f *File) Time() time.Time { return clock.Now(f.Now) }
