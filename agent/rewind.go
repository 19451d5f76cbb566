package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rouse/agent/history"
	"rouse/dispatcher/policy"
	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// Rewind says what is to be put back to how it was before a cycle.
type Rewind struct {
	Cycle         string
	Memory, Files bool
	Paths         []string // of the workspace; none is all of it
}

// Rewinding is what a rewind changes, and what it cannot.
type Rewinding struct {
	Rewind
	Keys []scratchpad.Difference // of the memory
	// Changes are made in the workspace; Left stays, as it was never kept or could not
	// be brought back.
	Changes, Left []history.Change
	// Calls are those since then that went out, the oldest first.
	Calls []Call
	// Cycle of the rewind itself, once it is done.
	Done string

	sum  string // of the snapshot
	from string // the version, or empty
}

// Call is one that a cycle began.
type Call struct {
	Cycle string `json:"cycle"`
	Step  int    `json:"step"`
	Tool  string `json:"tool"`
	Args  string `json:"args"`
}

// emptyVersion is what a workspace goes back to that was empty.
const emptyVersion = "empty"

// Nothing says that all is as it was.
func (r Rewinding) Nothing() bool { return len(r.Keys) == 0 && len(r.Changes) == 0 }

// Rewind puts memory and files back to what was before a cycle, or only says what that
// changes. It is a cycle of its own, without a model: what it replaces is its _before,
// and a later rewind to before it undoes it. Where it is killed, the next wake does the
// rest. It fails with [home.ErrAwake] while a cycle is awake.
func (k *Keeper) Rewind(r Rewind, do bool) (p Rewinding, err error) {
	unlock, err := k.Home.Lock()
	if err != nil {
		return p, err
	}
	defer unlock()
	if do {
		if _, err := k.settle(); err != nil && !errors.As(err, new(*Conflict)) {
			return p, err
		}
	}
	if p, err = k.plan(r); err != nil || !do || p.Nothing() {
		return p, err
	}
	w, err := k.open()
	if err != nil {
		return p, err
	}
	c := &w.record
	p.Done, c.effects = c.id, p.Files
	c.rewind = &journal.Rewound{To: r.Cycle, Memory: p.sum, Files: p.from, Paths: p.Paths, Outward: len(p.Calls)}
	end := failedRewind(k.intend(c))
	if end.Error == "" {
		end = k.putBack(c)
	}
	slept, err := k.finish(c, end, journal.Sleep{Ms: k.now().Sub(w.began).Milliseconds()})
	if err == nil && slept.Error != "" {
		err = errors.New(slept.Error)
	}
	return p, err
}

// intend keeps what is going to be replaced, and makes the intent durable.
func (k *Keeper) intend(c *record) error {
	if c.rewind.Files != "" {
		if err := k.keepVersion(c, history.Before(c.id)); err != nil {
			return fmt.Errorf("the workspace as it is now cannot be kept, so nothing is changed: %w", err)
		}
	}
	if err := k.disk().SyncDir(k.Home.Memory()); err != nil { // _before is the way back
		return err
	}
	return cmp.Or(c.journal.Append(c.rewind), c.journal.Sync())
}

func failedRewind(err error) journal.End {
	if err == nil {
		return journal.End{}
	}
	return journal.End{Outcome: journal.Failed, Exit: 1, Error: "rewind: " + err.Error()}
}

// plan says what a rewind changes.
func (k *Keeper) plan(r Rewind) (p Rewinding, err error) {
	p.Rewind = r
	if r.Memory {
		was, err := k.Home.LoadFile(k.Home.Before(r.Cycle))
		if err != nil {
			return p, err
		}
		now, _, err := k.Home.Load()
		if err != nil {
			return p, err
		}
		p.sum = was.Hash()
		p.Keys = slices.DeleteFunc(scratchpad.Diff(now, was), func(d scratchpad.Difference) bool { return d.Key == "last_updated" })
	}
	if r.Files {
		if err := k.planFiles(&p); err != nil {
			return p, err
		}
	}
	p.Calls, err = k.outward(r.Cycle)
	return p, err
}

func (k *Keeper) planFiles(p *Rewinding) error {
	v, err := k.target(history.Before(p.Cycle))
	if err != nil && !errors.Is(err, history.ErrNone) {
		return err
	}
	now, failed := k.lookAtFiles()
	switch {
	case failed != nil:
		return failed
	case err != nil && now.Files() == 0 && k.History.Size() == 0:
		p.Files = false // there never was one
		return nil
	case err != nil:
		return err
	}
	for i, path := range p.Paths {
		short := strings.TrimPrefix(path, "workspace/") // as the lists of changes have it
		switch {
		case now.Has(path) || v.Has(path):
		case now.Has(short) || v.Has(short):
			p.Paths[i] = short
		default:
			return fmt.Errorf("the workspace has no %s, now or then", text.Quoted(path))
		}
	}
	p.from = cmp.Or(v.ID, emptyVersion)
	p.Changes, p.Left = history.Plan(now, v, p.Paths)
	return nil
}

// lookAtFiles is how the workspace is now.
func (k *Keeper) lookAtFiles() (*history.Version, error) {
	v, err := k.History.Look(k.Workspace)
	if err != nil {
		err = fmt.Errorf("look at the workspace %s: %w", k.Workspace, err)
	}
	return v, err
}

// errNoHistory says why files cannot go back.
var errNoHistory = errors.New("no versions of this workspace are kept; history: {workspace: on} in rouse.yaml keeps them from now on, and rewind --memory puts the memory back alone")

// target is the workspace as it was.
func (k *Keeper) target(id string) (*history.Version, error) {
	if k.History == nil {
		return nil, errNoHistory
	}
	v, err := k.History.At(id)
	if errors.Is(err, history.ErrNone) {
		err = fmt.Errorf("%w; --memory puts the memory back alone", err)
	}
	if err == nil && v.Of != k.History.Of {
		err = fmt.Errorf("the workspace was %s then and is %s now; --memory puts the memory back alone", v.Of, k.History.Of)
	}
	return v, err
}

// outward are the calls from a cycle on that went out, which nothing undoes.
func (k *Keeper) outward(from string) (list []Call, err error) {
	ids, err := k.Home.Cycles(0)
	for _, id := range slices.Backward(ids) {
		if id < from {
			continue
		}
		for e, err := range journal.Read(k.Home.Journal(id)) {
			if err != nil {
				return list, err
			}
			if d, ok := e.Data.(*journal.Intent); ok && k.wentOut(d) {
				list = append(list, Call{id, d.Step, d.Tool, text.Line(string(d.Args), maxNote)})
			}
			if d, ok := e.Data.(*journal.Result); ok && d.Tool == "http_get" && d.Metadata[tools.Unsent] == true { // others may lie
				list = slices.DeleteFunc(list, func(c Call) bool { return c.Cycle == id && c.Step == d.Step })
			}
		}
	}
	return list, err
}

// wentOut says that what a call did is not in the workspace alone.
func (k *Keeper) wentOut(d *journal.Intent) bool {
	switch effectOf(d) {
	case policy.None:
		return false
	case policy.Workspace:
		var args struct{ Path string }
		_ = json.Unmarshal(d.Args, &args) // what has no path wrote nothing
		rel, err := filepath.Rel(k.Workspace, args.Path)
		return k.History == nil || d.Tool == notebookTool || filepath.IsAbs(args.Path) && (err != nil || !filepath.IsLocal(rel))
	}
	return true
}

// putBack carries out what the journal says, files first: what fails there leaves the
// memory as it was. It may be done again.
func (k *Keeper) putBack(c *record) journal.End {
	if err := k.putFiles(c); err != nil {
		return failedRewind(err)
	}
	state, err := k.memoryBefore(c.rewind)
	if err != nil {
		return failedRewind(err)
	}
	end := journal.End{Outcome: journal.Done}
	if state == nil {
		return end
	}
	if c.state = state; c.rewind.Outward > 0 {
		end.Changes = []scratchpad.Change{appendNote(fmt.Sprintf("\n[REWOUND] a person put the memory back to what was before cycle %s; %s since then went out and %s not undone",
			c.rewind.To, text.Count(c.rewind.Outward, "call"), map[bool]string{true: "is", false: "are"}[c.rewind.Outward == 1]))}
	}
	return end
}

// memoryBefore is the memory that a rewind puts back; nil where it stays.
func (k *Keeper) memoryBefore(d *journal.Rewound) (*scratchpad.State, error) {
	if d.Memory == "" {
		return nil, nil
	}
	s, err := k.Home.LoadFile(k.Home.Before(d.To))
	if err == nil && s.Hash() != d.Memory {
		err = fmt.Errorf("%s changed meanwhile", k.Home.Rel(k.Home.Before(d.To)))
	}
	return s, err
}

// putFiles puts the workspace back, but for what somebody changed since the rewind began.
func (k *Keeper) putFiles(c *record) error {
	if c.rewind.Files == "" {
		return nil
	}
	if k.History == nil {
		return errNoHistory
	}
	to, err := &history.Version{}, error(nil)
	if c.rewind.Files != emptyVersion {
		to, err = k.History.Read(c.rewind.Files)
	}
	if err != nil {
		return err
	}
	found, err := k.History.At(history.Before(c.id))
	if err != nil {
		return err
	}
	now, err := k.lookAtFiles()
	if err != nil {
		return err
	}
	put, _ := history.Plan(now, to, c.rewind.Paths)
	put, changed := history.Unless(put, found)
	for _, d := range changed[:min(5, len(changed))] {
		_ = c.journal.Append(&journal.Warning{Text: d.Path + " was changed while it was to be put back, and is left as it is"})
	}
	return k.History.Put(k.Workspace, put)
}

// rewound is the memory that the changes of a cycle's journal are for.
func (k *Keeper) rewound(base *scratchpad.State, t trace) *scratchpad.State {
	if t.rewind != nil && t.end != nil && t.end.Outcome == journal.Done {
		if s, err := k.memoryBefore(t.rewind); s != nil && err == nil {
			return s
		}
	}
	return base.Clone()
}

// ending is how a cycle ended that is settled: a rewind is carried out.
func (k *Keeper) ending(c *record, t *trace) journal.End {
	if c.rewind == nil || t.end != nil || c.ended {
		return t.ending(c.id)
	}
	return k.putBack(c)
}

// LastRewind is what undoes the newest rewind.
func LastRewind(h home.Home) (Rewind, error) {
	var list []Summary
	i := -1
	for n := 20; i < 0; n *= 10 { // mostly it is one of the newest
		var err error
		if list, err = Summaries(h, n); err != nil {
			return Rewind{}, err
		}
		i = slices.IndexFunc(list, func(s Summary) bool { return s.Rewound != "" })
		if i < 0 && len(list) < n {
			return Rewind{}, errors.New("nothing was rewound yet, as far as the journals tell")
		}
	}
	r := Rewind{Cycle: list[i].Cycle}
	for e, err := range journal.Read(h.Journal(r.Cycle)) {
		if d, ok := e.Data.(*journal.Rewound); ok && err == nil {
			r.Memory, r.Files, r.Paths = d.Memory != "", d.Files != "", d.Paths
		}
	}
	return r, nil
}

// CleanPaths are paths of the workspace as versions have them.
func CleanPaths(paths []string) (list []string, err error) {
	for _, p := range paths {
		if !filepath.IsLocal(p) {
			return nil, fmt.Errorf("%s: name a path in the workspace, from there on", text.Quoted(p))
		}
		if p = filepath.ToSlash(filepath.Clean(p)); p != "." {
			list = append(list, strings.TrimSuffix(p, "/"))
		}
	}
	return list, nil
}
