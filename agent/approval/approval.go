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
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/internal/yamlerror"
)

// Entry is a call that a person is asked about. Its JSON is that of `rouse approvals`.
type Entry struct {
	ID      string    `yaml:"id" json:"id"`
	Asked   time.Time `yaml:"asked" json:"asked"`
	Expires time.Time `yaml:"expires" json:"expires"`
	Cycle   string    `yaml:"cycle" json:"cycle"`
	Tool    string    `yaml:"tool" json:"tool"`
	Args    string    `yaml:"args" json:"args"`     // as they will be carried out, JSON
	SHA256  string    `yaml:"sha256" json:"sha256"` // [Sum] of tool and args
	Schema  string    `yaml:"schema" json:"schema"` // that of the tool's schema
	Rule    string    `yaml:"rule" json:"rule"`
	Because string    `yaml:"because,omitempty" json:"because"` // what the rule says
	Said    string    `yaml:"said,omitempty" json:"said"`       // the model's reason
	Origin  []string  `yaml:"origin,omitempty,flow" json:"origin"`
	Read    []string  `yaml:"read,omitempty" json:"read"` // what was read before
	// Decision is Approve, Deny or yet empty; Why, By and At go with it.
	Decision string    `yaml:"decision" json:"decision"`
	Why      string    `yaml:"why,omitempty" json:"why"`
	By       string    `yaml:"by,omitempty" json:"by"`
	At       time.Time `yaml:"at,omitempty" json:"at,omitzero"`
	// Carried is the cycle that set about to carry it out, which is done but once.
	Carried string `yaml:"carried,omitempty" json:"carried"`
	// Outcome is one of the outcomes, once the model was told, and Reason says why.
	Outcome string    `yaml:"outcome,omitempty" json:"outcome"`
	Reason  string    `yaml:"reason,omitempty" json:"reason"`
	Ended   time.Time `yaml:"ended,omitempty" json:"ended,omitzero"`

	node *yaml.Node
}

// Decisions of a person.
const (
	Approve = "approve"
	Deny    = "deny"
)

// Outcomes of a call.
const (
	Carried    = "carried"
	Unknown    = "unknown" // it was begun, and nobody knows what came of it
	Denied     = "denied"
	Expired    = "expired"
	Impossible = "impossible"
	Withdrawn  = "withdrawn"
)

// State is how it stands, in a word: open, approved, or what became of it.
func (e Entry) State(now time.Time) string {
	switch {
	case e.Outcome != "":
		return e.Outcome
	case e.Carried != "":
		return Unknown
	case e.Decision == Deny:
		return Denied
	case !now.Before(e.Expires):
		return Expired
	case e.Decision == Approve:
		return "approved"
	}
	return Open
}

// Open is the state of a call that nobody has answered.
const Open = "open"

// Call is what would be done, in a line.
func (e Entry) Call() string {
	return fmt.Sprintf("%s(%s)", text.Line(e.Tool, 64), text.Line(e.Args, 300))
}

// Sum is the hash of texts that belong together.
func Sum(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}

// Canonical is JSON on one line.
func Canonical(args []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return string(args)
	}
	return b.String()
}

// Bounds of the file.
const (
	maxOpen  = 500
	maxEnded = 1000 - maxOpen
	maxArgs  = 64 << 10
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

// list is the file as it was read.
type list struct {
	text    []byte
	doc     yaml.Node
	entries []*Entry
	dirty   bool
}

// All are the calls, the oldest first; decisions that were written by hand have their owner.
func (f *File) All() ([]*Entry, error) {
	l, err := f.load()
	if err != nil {
		return nil, err
	}
	return l.entries, nil
}

func (f *File) load() (l *list, err error) {
	l = &list{}
	if l.text, err = disk.ReadSmall(f.Path, maxBytes); errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	name := filepath.Base(f.Path)
	if err == nil {
		err = yaml.Unmarshal(l.text, &l.doc)
	}
	if err == nil && len(l.doc.Content) > 0 && l.root().Tag != "!!null" {
		err = l.root().Decode(&l.entries)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s; mend it, nothing is asked or carried out meanwhile", name, yamlerror.Text(err))
	}
	seen := map[string]bool{}
	for i, e := range l.entries {
		if e == nil || e.ID == "" || seen[e.ID] {
			return nil, fmt.Errorf("%s: line %d: every call has an id of its own; mend it, nothing is asked or carried out meanwhile", name, l.root().Content[i].Line)
		}
		seen[e.ID], e.node = true, l.root().Content[i]
	}
	return l, l.take(f.Path)
}

func (l *list) root() *yaml.Node { return l.doc.Content[0] }

// take takes in the decisions that were written by hand: they are by the file's owner.
func (l *list) take(path string) error {
	for _, e := range l.entries {
		if e.Decision = strings.ToLower(strings.TrimSpace(e.Decision)); e.Decision != "" && e.Decision != Approve && e.Decision != Deny {
			return fmt.Errorf("%s: line %d: decision is approve or deny, not %s", filepath.Base(path), e.node.Line, text.Quoted(e.Decision))
		}
		if e.Decision == "" || !e.At.IsZero() {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		e.By, e.At = "edit by "+owner(info), info.ModTime().Truncate(time.Second)
		l.set(e)
	}
	return nil
}

// owner names whose file it is.
func owner(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "its owner"
	}
	uid := strconv.Itoa(int(st.Uid))
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}

// set puts what has changed of an entry into the file; comments stay.
func (l *list) set(e *Entry) {
	l.dirty = true
	var fresh yaml.Node
	_ = fresh.Encode(e) // a struct of texts and times has a form
	for i := 0; i+1 < len(fresh.Content); i += 2 {
		key, value := fresh.Content[i], fresh.Content[i+1]
		at := slices.IndexFunc(e.node.Content, func(n *yaml.Node) bool { return n.Value == key.Value })
		switch {
		case at < 0 || at%2 == 1 || at+1 == len(e.node.Content):
			e.node.Content = append(e.node.Content, key, value)
		case value.Kind == yaml.ScalarNode && e.node.Content[at+1].Value != value.Value:
			old := e.node.Content[at+1]
			old.Kind, old.Tag, old.Value, old.Style, old.Content = value.Kind, value.Tag, value.Value, value.Style, nil
		}
	}
}

// header begins a new file.
const header = "Calls that wait for a person: `rouse approvals` lists them, `rouse approvals approve ID`\n" +
	"or deny ID answers. Or write approve or deny behind decision, and why: below it."

// add adds an entry.
func (l *list) add(e *Entry) {
	if len(l.doc.Content) == 0 || l.root().Kind != yaml.SequenceNode {
		l.doc = yaml.Node{Kind: yaml.DocumentNode, HeadComment: header, Content: []*yaml.Node{{Kind: yaml.SequenceNode}}}
	}
	e.node = &yaml.Node{}
	_ = e.node.Encode(e)
	l.root().Style = 0
	l.root().Content = append(l.root().Content, e.node)
	l.entries, l.dirty = append(l.entries, e), true
}

// drop takes out what ended long ago, and the oldest of what is too much.
func (l *list) drop(now time.Time) {
	ended := 0
	for i, e := range slices.Backward(l.entries) {
		if e.Outcome == "" {
			continue
		}
		if ended++; ended <= maxEnded && now.Sub(e.Ended) < keep {
			continue
		}
		l.entries = slices.Delete(l.entries, i, i+1)
		l.root().Content = slices.Delete(l.root().Content, i, i+1)
		l.dirty = true
	}
}

// Update changes entries under the lock, and is durable when it returns; what do gives of
// them is changed. An edit meanwhile is not lost.
func (f *File) Update(ctx context.Context, do func(all []*Entry) (changed []*Entry, err error)) error {
	return f.update(ctx, func(l *list) error {
		changed, err := do(l.entries)
		for _, e := range changed {
			l.set(e)
		}
		return err
	})
}

func (f *File) update(ctx context.Context, do func(*list) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err := disk.Lock(ctx, f.Lock, disk.Patient)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(f.Path), err)
	}
	defer unlock()
	for {
		l, err := f.load()
		if err == nil {
			err = do(l)
		}
		if err != nil {
			return err
		}
		if l.drop(f.Time()); !l.dirty {
			return nil
		}
		if err := f.write(l); !errors.Is(err, errEdited) {
			return err
		}
	}
}

var errEdited = errors.New("edited meanwhile")

func (f *File) write(l *list) error {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&l.doc); err != nil {
		return err
	}
	if err := disk.Sweep(disk.Or(f.Disk), filepath.Dir(f.Path), filepath.Base(f.Path)); err != nil {
		return err
	}
	return disk.Replace(unlessEdited{disk.Or(f.Disk), f.Path, l.text}, f.Path, b.Bytes(), 0o600)
}

// unlessEdited replaces a file only while it holds what was read of it.
type unlessEdited struct {
	disk.FS
	path string
	was  []byte
}

// Rename is the moment at which the file is replaced.
func (u unlessEdited) Rename(oldname, newname string) error {
	if now, err := os.ReadFile(u.path); !bytes.Equal(now, u.was) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errEdited
	}
	return u.FS.Rename(oldname, newname)
}

// Park keeps a call for a person to answer; fresh is whether it was not there yet. It is
// durable when it returns.
func (f *File) Park(ctx context.Context, e Entry) (id string, fresh bool, err error) {
	if len(e.Args) > maxArgs {
		return "", false, fmt.Errorf("its arguments have %d bytes, and nobody would read more than %d: write them to a file first", len(e.Args), maxArgs)
	}
	err = f.update(ctx, func(l *list) error {
		now, open := f.Time(), 0
		id, fresh = "", false
		e.Asked, e.Expires, e.SHA256 = now.Truncate(time.Second), now.Add(f.Expire).Truncate(time.Second), Sum(e.Tool, e.Args)
		for _, old := range l.entries {
			state := old.State(now)
			if state != Open && state != "approved" {
				continue
			}
			if open++; old.SHA256 == e.SHA256 && old.Schema == e.Schema {
				id = old.ID
				return nil
			}
		}
		if open >= maxOpen {
			return fmt.Errorf("%d calls wait for an answer already", open)
		}
		id, fresh = l.free(Sum(e.SHA256, e.Cycle, e.Asked.String())), true
		e.ID = id
		l.add(&e)
		return nil
	})
	return id, fresh, err
}

// free is a short id that no other one begins with, of letters that make no word, as to YAML
// digits may be a number.
func (l *list) free(sum string) string {
	sum = strings.Map(func(c rune) rune { return rune("bcdfghjkmnpqrstv"[strings.IndexRune("0123456789abcdef", c)]) }, sum)
	for n := 6; ; n++ {
		if id := sum[:n]; n == len(sum) || !slices.ContainsFunc(l.entries, func(e *Entry) bool { return strings.HasPrefix(e.ID, id) }) {
			return id
		}
	}
}

// Find is the one call whose id begins so.
func Find(all []*Entry, prefix string) (*Entry, error) {
	var found []*Entry
	for _, e := range all {
		if e.ID == prefix {
			return e, nil
		}
		if prefix != "" && strings.HasPrefix(e.ID, prefix) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no call %s; rouse approvals lists them", text.Quoted(prefix))
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s begins the ids of %d calls", text.Quoted(prefix), len(found))
}

// Answer answers a call that is open. The first answer stays: the error says whose it is.
func (f *File) Answer(ctx context.Context, prefix, decision, by, why string) (e Entry, err error) {
	if _, err := os.Stat(f.Path); err != nil {
		_, err = Find(nil, prefix)
		return e, err
	}
	err = f.Update(ctx, func(all []*Entry) ([]*Entry, error) {
		found, err := Find(all, prefix)
		if err != nil {
			return nil, err
		}
		switch state := found.State(f.Time()); {
		case found.Decision != "":
			return nil, fmt.Errorf("%s has an answer already: %s by %s at %s", found.ID, found.Decision, text.Line(found.By, 80), found.At.Local().Format(time.DateTime))
		case state != Open:
			return nil, fmt.Errorf("%s is %s: there is nothing to answer", found.ID, state)
		}
		found.Decision, found.By, found.Why, found.At = decision, by, why, f.Time().Truncate(time.Second)
		e = *found
		return []*Entry{found}, nil
	})
	return e, err
}

// Time is the time by which calls expire.
func (f *File) Time() time.Time { return clock.Now(f.Now) }
