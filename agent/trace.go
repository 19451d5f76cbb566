package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
)

// trace is what the journal of an interrupted cycle tells of it. Lines that its
// chain does not prove tell of calls that may have run, and of nothing else: no
// process is ended and nothing is remembered on their word.
type trace struct {
	base, mark string
	awake      bool   // the event wake is proven
	effects    bool   // a call began that may have had one
	version    string // of the workspace, the last one
	cells      bool   // a notebook was used
	rewind     *journal.Rewound
	full       bool // it left word that the disk was full
	lost       bool // its machine is lost, and with it what it left beside the journal
	owner      proc.Identity
	started    []proc.Identity
	acted      bool             // it carried out what a person approved
	open       []journal.Intent // calls without a result
	origins    origin.Set
	unkept     bool
	end        *journal.End
	tidied     *journal.Tidied
	letters    []string // of the inbox
	slept      *journal.Sleep
	trust      *journal.Trust
	made       map[string]string

	gathered journal.Doubts
	doubts   []string // what of it is not proven, and why
	told     bool     // the journal says so already
	toldLost bool     // and that of lost

	calls      journal.Counts
	key        []byte
	chain      *journal.Chain // after the last line
	iterations int
	tokens     int
	first      time.Time
	took       time.Duration
}

func (k *Keeper) readTrace(id string, key []byte) (trace, error) {
	t := trace{key: key, chain: journal.NewChain(key, id)}
	for l, err := range journal.Check(k.Home.Journal(id), t.chain) {
		if err != nil {
			return t, err
		}
		t.gathered.Add(l)
		if l.Doubt != "" {
			t.doubt(l)
			continue
		}
		if len(t.gathered) == 0 {
			t.doubts, t.told = nil, false // a person vouched for them
		}
		if t.first.IsZero() {
			t.first = l.Time
		}
		t.took = l.Time.Sub(t.first)
		t.add(l.Event)
	}
	if t.lost = disk.Exists(k.Home.Left(home.LostFile, id)); t.lost {
		t.started, t.owner = nil, proc.Identity{} // of another machine
	}
	return t, nil
}

func (t *trace) add(e journal.Event) {
	switch d := e.Data.(type) {
	case *journal.Wake:
		t.base, t.mark, t.owner, t.trust, t.made, t.awake = d.Base, d.Mark, d.Owner, d.Trust, d.Made, true
	case *journal.Accepted:
		if t.trust != nil {
			t.trust.Set(d.Server, journal.TrustedServer{Tools: d.Tools})
		}
	case *journal.Request:
		t.iterations = d.Iteration
	case *journal.Reply:
		t.tokens += d.Usage.Input + d.Usage.Output
	case *journal.Intent:
		t.open, t.acted = append(t.open, *d), t.acted || d.Approval != ""
		t.cells = t.cells || d.Tool == notebookTool
		t.effects = t.effects || effectOf(d).Touches(d.Tool)
	case *journal.Rewound:
		t.rewind, t.effects = d, d.Files != ""
	case *journal.Kept:
		t.version = d.ID
	case *journal.Started:
		t.started = append(t.started, d.Process)
	case *journal.Origin:
		t.origins = t.origins.With(d.From...)
	case *journal.Result:
		t.close(d.Step)
		t.calls.Add(d)
	case *journal.Refused:
		t.calls.Refuse(d)
	case *journal.Warning:
		t.told, t.toldLost = t.told || strings.HasPrefix(d.Text, doubtful), t.toldLost || d.Text == lostFiles
		t.unkept = t.unkept || strings.HasPrefix(d.Text, unversioned)
	case *journal.End:
		t.end = d
	case *journal.Tidied:
		t.tidied = d
	case *journal.State:
		t.letters = append(t.letters, d.Told...)
	case *journal.Sleep:
		t.slept = d
	}
}

// doubt takes from a line that is not proven which calls may have run. Its mark
// finds only what carries it.
func (t *trace) doubt(l journal.Line) {
	t.doubts = append(t.doubts, fmt.Sprintf("line %d (%s) %s", l.Number, text.Line(l.Event.Event, 16), l.Doubt))
	switch d := l.Data.(type) {
	case *journal.Wake:
		t.mark = cmp.Or(t.mark, d.Mark)
	case *journal.Origin:
		t.origins = t.origins.With(d.From...)
	case *journal.Intent:
		t.open, t.cells = append(t.open, *d), t.cells || d.Tool == notebookTool
		t.effects = t.effects || effectOf(d).Touches(d.Tool)
	}
}

// began says that the cycle came to do something.
func (t *trace) began() bool { return t.iterations > 0 || t.acted }

func (t *trace) close(step int) {
	if i := slices.IndexFunc(t.open, func(d journal.Intent) bool { return d.Step == step }); i >= 0 {
		t.open = slices.Delete(t.open, i, i+1)
	}
}

// ending is how the cycle ended, if it came to say so, else that it was
// interrupted.
func (t *trace) ending(id string) journal.End {
	if t.end != nil {
		end := *t.end
		if t.lost {
			end.Outcome, end.Exit, end.Error, end.Task = journal.Failed, 1, "interrupted: "+lostFiles, journal.TaskNone
		}
		return end
	}
	end := journal.End{Outcome: journal.Failed, Exit: 1, Error: "interrupted: the cycle ended without sleeping" + t.why()}
	note := fmt.Sprintf("\n[INTERRUPTED] cycle %s ended without sleeping%s; ", id, t.why())
	if len(t.doubts) > 0 {
		end.Error += "; " + t.doubted()
		note += t.doubted() + "; "
	}
	note += t.unknown()
	if len(t.open) > 0 { // what the model wrote is in it
		note = t.origins.Text(note)
	}
	end.Changes = []scratchpad.Change{appendNote(note)}
	return end
}

// lostFiles says what became of the files of a cycle that had come to its end.
const lostFiles = "its machine was lost before its files were kept; those of the workspace are as they were before it"

// tellLost puts that down, once.
func (c *record) tellLost(t trace) error {
	if !t.lost || t.end == nil || t.toldLost {
		return nil
	}
	note := fmt.Sprintf("\n[INTERRUPTED] cycle %s: %s", c.id, lostFiles)
	return c.journal.Append(&journal.Warning{Text: lostFiles, Changes: []scratchpad.Change{appendNote(note)}})
}

// why is why the cycle did not sleep, as far as it left word.
func (t *trace) why() string {
	switch {
	case t.lost:
		return ", as its machine was lost, and files of the workspace are as they were before it"
	case t.full:
		return ", as the disk was full"
	}
	return ""
}

// doubtful begins what is said of a journal with lines that are not proven.
const doubtful = "its journal is damaged: "

// doubted names what is not proven.
func (t *trace) doubted() string {
	return fmt.Sprintf("%s%s; of its lines %d are not applied to the memory", doubtful, t.doubts[0], len(t.doubts))
}

// tellDoubt puts down, once, what in the journal is not proven. A journal that
// had ended with sleep ends with it again.
func (c *record) tellDoubt(t trace) error {
	if len(t.doubts) == 0 && t.slept == nil {
		return nil
	}
	if len(t.doubts) > 0 && !t.told {
		w := &journal.Warning{Text: t.doubted()}
		if t.end != nil && t.slept == nil {
			w.Changes = []scratchpad.Change{appendNote(fmt.Sprintf("\n[INTERRUPTED] cycle %s: %s", c.id, t.doubted()))}
		}
		if err := c.journal.Append(w); err != nil {
			return err
		}
	}
	if t.slept == nil {
		return nil
	}
	t.slept.Unproven, t.slept.Vouched = len(t.doubts), nil
	return cmp.Or(c.journal.Append(t.slept), c.journal.Sync())
}

// unknown names the calls that had begun and have no result.
func (t *trace) unknown() string {
	if len(t.open) == 0 {
		return "no call was under way"
	}
	return "outcome unknown, it may have run and is not repeated: " + text.Join(t.open, "; ", func(i journal.Intent) string {
		return fmt.Sprintf("step %d %s(%s)", i.Step, text.Line(i.Tool, 64), text.Line(string(i.Args), 300))
	})
}
