// Package source says where the results of tools came from: which are text from outside,
// and which are private. It knows what each tool could have read, and counts as read what
// nobody could watch.
//
// What a cycle with such text leaves behind carries it: the [Ledger] beside the journals
// says so of files, notebooks and cycles, so that a later cycle that reads them has it too.
// A person who edits a file has vouched for it: its content is no longer the one that is in
// the ledger.
package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"rouse/scratchpad/origin"
	"rouse/tools"
)

// Sources are those of a home. The fields are set once.
type Sources struct {
	Ledger
	// Open says that nobody can watch whom the processes of tools reach.
	Open bool
	// Granted says that cells have credentials, and Remote that they run elsewhere.
	Granted, Remote bool

	mu    sync.Mutex
	heard origin.Set
	found *entries // as the cycle found it, nil before it was looked at
}

// Folder holds text from outside, or what is private.
type Folder struct {
	Path    string // absolute, without links
	Origin  string // such as "file workspace/inbox"
	Private bool
}

// Begin is for a new cycle.
func (s *Sources) Begin() { s.found = nil }

// Hear says that a process was given something from outside by Rouse itself.
func (s *Sources) Hear(from string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = s.heard.With(from)
}

// Watch says of a call that begins where its result will be from.
func (s *Sources) Watch(t tools.Tool, call tools.Call) func(tools.Result) []string {
	found := s.entries() // before the call changes it
	switch {
	case t.Source != "":
		return s.foreign(t)
	case t.Name == "shell":
		return s.process(t.Name, nil)
	case t.Name == "notebook":
		return s.notebook(call.Args)
	}
	return func(r tools.Result) (from []string) {
		switch t.Name {
		case "echo", "write_file", "scratchpad_keep":
		case "http_get":
			from = named(t.Name, r.From)
		case "read_file", "list_files", "recall", "scratchpad_read":
			for _, read := range r.Read {
				from = append(from, s.read(found, read)...)
			}
		default:
			from = []string{t.Name}
		}
		return from
	}
}

func named(tool string, hosts []string) (from []string) {
	for _, host := range hosts {
		from = append(from, tool+" "+host)
	}
	return from
}

// foreign is a tool of others, of which the operator says what it reads. What is private
// there was still written by others, such as a mail. Nobody watches a command.
func (s *Sources) foreign(t tools.Tool) func(tools.Result) []string {
	switch command := strings.HasPrefix(t.Source, "command "); {
	case t.Reads == "none":
		return func(tools.Result) []string { return nil }
	case t.Reads == "private":
		return func(tools.Result) []string { return []string{t.Source, origin.Private} }
	case t.Reads == "" && command:
		return s.process("", []string{t.Source})
	}
	return func(tools.Result) []string { return []string{t.Source} }
}

// process is a call whose processes are confined and not watched, but for the hosts that
// they reach.
func (s *Sources) process(tool string, from origin.Set) func(tools.Result) []string {
	from = from.With(s.readable()...)
	if s.Open && tool != "" {
		from = from.With(tool + " network")
	}
	if s.Unwatched {
		from = from.With(origin.Private)
	}
	return func(r tools.Result) []string {
		if tool != "" {
			from = from.With(named(tool, r.From)...)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		from, s.heard = from.With(s.heard...).With(s.readable()...), nil
		return from
	}
}

// notebook is a call of a notebook, whose variables and outputs stay.
func (s *Sources) notebook(args json.RawMessage) func(tools.Result) []string {
	var a struct{ Action, Name string }
	_ = json.Unmarshal(args, &a) // it has passed its schema
	from := s.read(s.entries(), filepath.Join(s.Places().Notebooks, a.Name))
	switch a.Action {
	case "view", "dump":
		return func(tools.Result) []string { return from }
	case "cancel", "reset", "remove":
		return func(tools.Result) []string { return nil }
	case "install":
		from = from.With("notebook packages")
	}
	if s.Remote {
		from = from.With("notebook network")
	}
	if s.Granted {
		from = from.With(origin.Private)
	}
	return s.process("notebook", from)
}

// readable is what a process could have read now of what has an origin.
func (s *Sources) readable() (from origin.Set) {
	for _, f := range s.Places().Folders {
		if !empty(f.Path) {
			from = from.With(f.origin())
		}
	}
	for _, c := range s.entries().carriers {
		if !within(c.path, s.Places().Notebooks) { // which a process does not see
			from = from.With(c.from...)
		}
	}
	return from
}

func (f Folder) origin() string {
	if f.Private {
		return origin.Private
	}
	return f.Origin
}

// read is where what was read came from: a file, a folder, which ends in a slash and
// stands for all below it, or a cycle.
func (s *Sources) read(found *entries, read string) (from origin.Set) {
	if !filepath.IsAbs(read) {
		return s.cycle(found, read)
	}
	path, all := strings.CutSuffix(read, "/")
	meets := func(p string) bool { return within(path, p) || all && within(p, path) }
	for _, f := range s.Places().Folders {
		if meets(f.Path) && (within(path, f.Path) || !empty(f.Path)) {
			from = from.With(f.origin())
		}
	}
	for _, c := range found.carriers {
		if meets(c.path) {
			from = from.With(c.from...)
		}
	}
	return from
}

// Kept are the origins of what cycles left for others, such as labels.
func (s *Sources) Kept(cycles []string) (from origin.Set) {
	for _, id := range cycles {
		from = from.With(s.cycle(s.entries(), id)...)
	}
	return from
}

// within says whether a path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func empty(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer d.Close()
	names, _ := d.Readdirnames(1) // a file is no folder, and there
	info, err := d.Stat()
	return err == nil && info.IsDir() && len(names) == 0
}

// entries is the ledger as the cycle found it.
func (s *Sources) entries() *entries {
	if s.found == nil {
		s.found = s.load()
		s.find(s.found)
	}
	return s.found
}
