// Package source says where the results of tools came from: which are text from outside,
// and which are private. It knows what each tool could have read, and counts as read what
// nobody could watch.
//
// What a cycle with such text leaves behind carries it: the [Ledger] says so of files,
// notebooks and cycles. A person who edits a file has vouched for it: its content is no
// longer the one that is in the ledger.
package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rouse/scratchpad/observation"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// Sources are those of a home. The fields are set once.
type Sources struct {
	Ledger
	// Process is what every process of a tool could have read, and Cells what those of
	// notebooks could beside it.
	Process, Cells origin.Set

	found *entries // as the cycle found it, nil before it was looked at
}

// Folder holds what has an origin, such as "file workspace/inbox" or "private".
type Folder struct{ Path, Origin string }

// Begin is for a new cycle.
func (s *Sources) Begin() { s.found = nil }

// Watch says of a call that begins where its result will be from. Of other people's tools
// the operator says what they read; what is private there, such as a mail, was still
// written by others.
func (s *Sources) Watch(t tools.Tool, call tools.Call) func(tools.Result) []string {
	var from origin.Set
	process := t.Reads == "" && strings.HasPrefix(t.Source, "command ")
	s.entries() // before the call changes what is there
	switch {
	case t.Source != "" && t.Reads == "private":
		from = origin.Set{t.Source, origin.Private}
	case t.Source != "" && t.Reads != "none":
		from = origin.Set{t.Source}
	case t.Source != "", t.Reads == "none", slices.Contains([]string{"echo", "write_file", "scratchpad_keep", "http_get"}, t.Name):
	case t.Name == "shell":
		process = true
	case t.Name == "notebook":
		from, process = s.notebook(call.Args)
	case !slices.Contains([]string{"read_file", "list_files", "recall", "scratchpad_read", tools.FindName, tools.CallName}, t.Name):
		from = origin.Set{t.Name}
	}
	if process {
		from = from.With(s.process()...)
	}
	return func(r tools.Result) []string {
		for _, read := range r.Read {
			from = from.With(s.read(read)...)
		}
		for _, place := range r.From {
			switch {
			case t.Source != "":
			case t.Name == "scratchpad_read": // of what another home shares, which says so itself
				from = from.With(place)
			default:
				from = from.With(t.Name + " " + place)
			}
		}
		if process { // what came meanwhile
			from = from.With(s.process()...)
		}
		return from
	}
}

// notebook is what a call of a notebook has, whose variables and outputs stay.
func (s *Sources) notebook(args json.RawMessage) (from origin.Set, process bool) {
	var a struct{ Action, Name string }
	_ = json.Unmarshal(args, &a) // it has passed its schema
	switch from = s.read(filepath.Join(s.Places().Notebooks, a.Name)); a.Action {
	case "view", "dump":
		return from, false
	case "cancel", "reset", "remove":
		return nil, false
	case "install":
		from = from.With("notebook packages")
	}
	return from.With(s.Cells...), true
}

// process is what a process could have read now.
func (s *Sources) process() origin.Set {
	from := s.Process
	for _, f := range s.Places().Folders {
		if !empty(f.Path) {
			from = from.With(f.Origin)
		}
	}
	for _, c := range s.entries().carriers {
		if !within(c.path, s.Places().Notebooks) { // which it does not see
			from = from.With(c.from...)
		}
	}
	return from
}

// read is where what was read came from: a file, a folder, which ends in a slash and
// stands for all below it, or a cycle.
func (s *Sources) read(what string) (from origin.Set) {
	if e := s.entries(); !filepath.IsAbs(what) {
		if from = e.Any.With(e.Cycles[what]...); s.Unwatched { // which is not written down
			from = from.With(origin.Private)
		}
		return from
	}
	path, all := strings.CutSuffix(what, "/")
	for _, f := range s.Places().Folders {
		if within(path, f.Path) || all && within(f.Path, path) && !empty(f.Path) {
			from = from.With(f.Origin)
		}
	}
	for _, c := range s.entries().carriers {
		if within(path, c.path) || all && within(c.path, path) {
			from = from.With(c.from...)
		}
	}
	return from
}

// Kept are the origins of what cycles left for others, such as labels.
func (s *Sources) Kept(list []observation.Entry) (from origin.Set) {
	for _, e := range list {
		if s != nil {
			from = from.With(s.read(e.Turn)...)
		}
	}
	return from
}

// within says whether a path is a folder or below it.
func within(path, folder string) bool { return strings.HasPrefix(path+"/", folder+"/") }

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return os.IsNotExist(err) || err == nil && len(entries) == 0
}

// entries is the ledger as the cycle found it.
func (s *Sources) entries() *entries {
	if s.found == nil {
		s.found = s.load()
		s.find(s.found)
	}
	return s.found
}
