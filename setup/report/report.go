// Package report says what happened in a home since a moment, on one page and without a
// model: what was due and ran, what is proven, what it cost, what changed in memory and
// files, what was reached, what was refused, and what is not as it should be.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/history"
	"rouse/agent/notify"
	"rouse/agent/search"
	"rouse/home"
	"rouse/internal/sandbox"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/setup"
)

// Report is what happened in a home. Its JSON is that of `rouse report`; every list is there,
// if empty.
type Report struct {
	Home  string    `json:"home"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Slots are those that were due, the oldest first, and Cycles those that began, too.
	Slots  []setup.Slot    `json:"slots"`
	Cycles []agent.Summary `json:"cycles"`
	Tally  Tally           `json:"tally"`
	// Failures say why cycles failed, and Calls which did not do what they were to.
	Failures []Failure `json:"failures"`
	Calls    []Call    `json:"calls"`
	// Doubts are what a cycle's word should not be taken for without a look, and Origins are
	// where texts came from outside.
	Doubts  []Doubt      `json:"doubts"`
	Origins []Origin     `json:"origins"`
	Cost    Cost         `json:"cost"`
	Limits  []budget.Use `json:"limits"`
	// Memory is what changed over all of the time, key by key, and Files in the workspace.
	Memory []scratchpad.Difference `json:"memory"`
	Files  []File                  `json:"files"`
	// Hosts were reached, Wanted was refused.
	Hosts  []Count  `json:"hosts"`
	Wanted []Wanted `json:"wanted"`
	// Approvals are calls that wait for a yes, and those of which that was answered meanwhile.
	Approvals []Approval `json:"approvals"`
	Said      []Said     `json:"said"`
	// Problems say what is not as it should be, with what mends it.
	Problems []string `json:"problems"`
	Due      []Due    `json:"due"` // until the end of the day, of each entry at least the next
	// Unread is why the configuration cannot be read, "" where it can.
	Unread string `json:"unread"`
	// Undo is the cycle to before which a rewind takes all of it back, "" without any.
	Undo string `json:"undo"`
}

// Tally counts the cycles, by the verdict on their task, and their calls.
type Tally struct {
	Cycles  int `json:"cycles"`
	Proven  int `json:"proven"`
	Claimed int `json:"claimed"`
	Failed  int `json:"failed"` // whose task or process failed
	Idle    int `json:"idle"`   // that found nothing to do, or wait
	Awake   int `json:"awake"`
	None    int `json:"none"`   // all others: without a task
	Told    int `json:"untold"` // of which people could not be told
	// Calls, by what became of them.
	Calls   int `json:"calls_failed"`
	Refused int `json:"calls_refused"`
	Denied  int `json:"calls_denied"`
	Asked   int `json:"calls_asked"`
}

// Cost is what the cycles used, and what is usual for so long a time: the mean of the
// week before.
type Cost struct {
	budget.Row
	Money    *budget.Money `json:"money"` // nil where a model has no price
	Currency string        `json:"currency"`
	Usual    *Usual        `json:"usual"` // nil where there was nothing then
	Days     []Day         `json:"days"`  // of all that, the newest month
}

// Day is what was used on a day.
type Day struct {
	Day    string       `json:"day"`
	Tokens int64        `json:"tokens"`
	Money  budget.Money `json:"money"` // as far as models have a price
}

// Usual is what cycles use else.
type Usual struct {
	Tokens int64         `json:"tokens"`
	Money  *budget.Money `json:"money"`
}

// File is one that changed.
type File struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// Count is how often something was there.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Wanted is what the sandbox refused, and the line that would allow it.
type Wanted struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	Mend  string `json:"mend"`
}

// Said is what the model noted, or said when it was done.
type Said struct {
	Cycle string `json:"cycle"`
	Kind  string `json:"kind"` // note or done
	Text  string `json:"text"`
}

// Failure is why cycles failed: the newest of those that one cause had.
type Failure struct {
	Cycle string `json:"cycle"`
	Kind  string `json:"kind"`
	Why   string `json:"why"`
	Count int    `json:"count"`
	Over  string `json:"over_since"` // the cycle that went past it, "" for none
}

// Kinds of a [Failure].
const (
	FailedCheck = "check"       // what the model said was done is not
	FailedRun   = "run"         // the cycle itself, as without a model
	FailedDeath = "interrupted" // its process was killed
)

// Call is one that did not do what it was to: the newest of those of a tool that one cause had.
type Call struct {
	Cycle string `json:"cycle"`
	Step  int    `json:"step"`
	Tool  string `json:"tool"`
	On    string `json:"on"` // its main argument, or all in JSON; "" where the memory keeps none
	How   string `json:"how"`
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// What became of a [Call].
const (
	CallFailed  = "failed"
	CallRefused = "refused" // by Rouse itself: a done whose checks do not hold, a change of the memory
	CallDenied  = "denied"  // by the operator's policy
	CallAsked   = "asked"   // it waits for a yes, or got a no
)

// Doubt is what makes a cycle's word doubtful.
type Doubt struct {
	Cycle string `json:"cycle"` // "" for what is in the memory now
	Text  string `json:"text"`
}

// Origin is a place outside, in how many cycles there was text from it, and whether there is
// such text in the memory now.
type Origin struct {
	Count
	Memory bool `json:"in_memory"`
}

// Approval is a call with how it stands, and while it waits the command that approves it.
type Approval struct {
	setup.Approval
	Answer string `json:"answer"`
}

// Due is a slot to come.
type Due struct {
	Time time.Time `json:"time"`
	Cron string    `json:"cron"`
	Task string    `json:"task"`
}

// Homes opens the homes among and in folders, to be looked at; the error says which cannot be.
func Homes(dirs []string, p setup.Process) (list []*setup.Setup, err error) {
	found, err := home.Find(dirs...)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no home in %s: none has rules.md", strings.Join(dirs, ", "))
	}
	for _, dir := range found {
		h, failed := home.Open(dir)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		s, _ := setup.Look(h, p) // the report has it among its problems
		list = append(list, s)
	}
	return list, err
}

// Of reports on several homes, as [Since] does on one; the error says of which it could not.
func Of(homes []*setup.Setup, moment string) (list []Report, err error) {
	for _, s := range homes {
		r, failed := Since(s, moment)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.Home.Dir, failed))
			continue
		}
		list = append(list, r)
	}
	return list, err
}

// Since reports on a home since a moment: a length of time before now, a day, a cycle, or
// "last", when a person last looked at it.
func Since(s *setup.Setup, moment string) (Report, error) {
	if moment == "last" {
		moment = "24h"
		if info, err := os.Stat(s.Home.Looked()); err == nil {
			moment = info.ModTime().Format(home.CycleForm)
		}
	}
	since, err := search.Since(cmp.Or(moment, "24h"), s.Now())
	if err == nil && since > s.Now().Format(home.CycleForm) {
		err = search.Wrong("since %q: that is yet to come", moment)
	}
	if err != nil {
		return Report{}, err
	}
	return of(s, since)
}

// of reports on a home since a cycle, or the moment that its id would have. What cannot be
// read is a problem that it names.
func of(s *setup.Setup, since string) (Report, error) {
	r := Report{
		Home: s.Home.Dir, Until: s.Now(), Slots: []setup.Slot{}, Cycles: []agent.Summary{}, Doubts: []Doubt{}, Origins: []Origin{}, Limits: []budget.Use{},
		Memory: []scratchpad.Difference{}, Files: []File{}, Wanted: []Wanted{}, Approvals: []Approval{}, Problems: []string{}, Due: []Due{},
	}
	var err error
	if r.Since, err = time.ParseInLocation(home.CycleForm, since, time.Local); err != nil {
		return r, err
	}
	if _, err := setup.Open(s.Home, s.Process); err != nil {
		r.Unread = err.Error()
	}
	h := s.Home.AtOnce()
	r.problem(r.addCycles(h, since))
	read := newReading(since)
	r.allowed(s)
	r.problem(r.addCost(s, since, read.line))
	t := &r.Tally
	t.Calls, t.Refused, t.Denied, t.Asked = read.missed[CallFailed], read.missed[CallRefused], read.missed[CallDenied], read.missed[CallAsked]
	r.Calls, r.Hosts, r.Said = read.calls.list(), counts(read.hosts), read.spoken()
	r.addSlots(s)
	r.addTroubles(h)
	if s.Config.Posture != "" {
		r.addMarked(h)
	}
	r.addChanges(h)
	r.addStanding(s, read.from)
	r.problem(r.addApprovals(s))
	return r, nil
}

// addCycles adds the cycles, the oldest first.
func (r *Report) addCycles(h home.Home, since string) error {
	ids, err := h.Cycles(0)
	n := slices.IndexFunc(ids, func(id string) bool { return id < since })
	if n < 0 {
		n = len(ids)
	}
	if n == 0 || err != nil {
		return err
	}
	list, err := agent.Verdicts(h, n)
	slices.Reverse(list)
	r.Cycles = append(r.Cycles, list...)
	for _, c := range list {
		r.Tally.add(c)
		for _, refused := range c.Sandbox {
			r.want(h, refused)
		}
	}
	return err
}

func (t *Tally) add(c agent.Summary) {
	if c.Rewound != "" {
		return
	}
	t.Cycles++
	if c.Delivery == notify.Undelivered {
		t.Told++
	}
	switch {
	case c.Exit != 0 || c.Task == journal.TaskFailed || c.Outcome == agent.Interrupted:
		t.Failed++
	case c.Task == journal.TaskProven:
		t.Proven++
	case c.Task == journal.TaskClaimed:
		t.Claimed++
	case c.Outcome == agent.Awake:
		t.Awake++
	case c.Outcome == journal.Idle || c.Outcome == journal.Waiting:
		t.Idle++
	default:
		t.None++
	}
}

func (r *Report) want(h home.Home, refused journal.Refusal) {
	i := slices.IndexFunc(r.Wanted, func(w Wanted) bool { return w.What == refused.What })
	if i < 0 {
		i, r.Wanted = len(r.Wanted), append(r.Wanted, Wanted{What: refused.What, Mend: agent.Mend(h, refused.What)})
	}
	r.Wanted[i].Count += refused.Count
}

// allowed takes the way to allow it from what is allowed by now.
func (r *Report) allowed(s *setup.Setup) {
	for i, w := range r.Wanted {
		kind, name, _ := strings.Cut(w.What, " ")
		if kind != sandbox.Host && kind != sandbox.Read && kind != sandbox.Write {
			continue
		}
		if got, _, err := s.Allow(kind, name); err == nil && !got.Added {
			r.Wanted[i].Mend = ", which is allowed now"
		}
	}
}

// addCost adds what the cycles used, and what those of the week before did; each is given the
// lines of all their journals.
func (r *Report) addCost(s *setup.Setup, since string, each func(cycle string, line []byte)) error {
	prices, _ := s.Prices() // whose error is a problem anyway
	const week = 7 * 24 * time.Hour
	y, m, d := r.Since.Add(-week).Date() // of which all is counted, for the chart
	rows, err := budget.Usage(s.Home, "cycle", s.ModelName(), prices, time.Date(y, m, d, 0, 0, 0, 0, r.Since.Location()).Format(home.CycleForm), each)
	if err != nil {
		return err
	}
	from := func(id string) int {
		n, _ := slices.BinarySearchFunc(rows, id, func(r budget.Row, id string) int { return cmp.Compare(r.Key, id) })
		return n
	}
	n, first := from(since), from(r.Since.Add(-week).Format(home.CycleForm))
	now, before := budget.Total(rows[n:]), budget.Total(rows[first:n])
	r.Cost = Cost{Row: now, Currency: prices.Currency, Days: r.days(rows)}
	if now.Priced {
		r.Cost.Money = &now.Money
	}
	if n > first {
		share := float64(r.Until.Sub(r.Since)) / float64(week)
		u := &Usual{Tokens: int64(float64(before.Input+before.Output) * share)}
		if money := budget.Money(float64(before.Money) * share); before.Priced {
			u.Money = &money
		}
		r.Cost.Usual = u
	}
	uses, err := s.Uses()
	r.Limits = append(r.Limits, uses...)
	return err
}

// days are those up to now from a week before, at most a month.
func (r *Report) days(rows []budget.Row) (list []Day) {
	at := 0
	y, m, first := r.Since.AddDate(0, 0, -7).Date()
	for d := time.Date(y, m, first, 0, 0, 0, 0, r.Since.Location()); !d.After(r.Until); d = d.AddDate(0, 0, 1) {
		from := at
		for at < len(rows) && rows[at].Key < d.AddDate(0, 0, 1).Format("20060102") {
			at++
		}
		sum := budget.Total(rows[from:at])
		list = append(list, Day{d.Format(time.DateOnly), sum.Input + sum.Output, sum.Money})
	}
	return list[max(0, len(list)-31):]
}

// addChanges adds what became of memory and files. What is not kept any more is said.
func (r *Report) addChanges(h home.Home) {
	slept := slices.DeleteFunc(slices.Clone(r.Cycles), func(c agent.Summary) bool {
		return c.Outcome == agent.Awake || c.Outcome == agent.Interrupted
	})
	if len(slept) == 0 {
		return
	}
	first, last := slept[0].Cycle, slept[len(slept)-1].Cycle
	r.Undo = first
	was, err := h.LoadFile(h.Before(first))
	if err == nil {
		var is *scratchpad.State
		if is, err = h.LoadFile(h.After(last)); err == nil {
			r.Memory = slices.DeleteFunc(append(r.Memory, scratchpad.Diff(was, is)...), func(d scratchpad.Difference) bool { return d.Key == "last_updated" })
		}
	}
	r.problem(err)
	files, err := agent.Files(h, first, last)
	if !errors.Is(err, history.ErrNone) {
		r.problem(err)
	}
	for _, c := range files {
		r.Files = append(r.Files, File{c.Path, c.Kind()})
	}
}

func (r *Report) problem(err error) {
	if err != nil && !slices.Contains(r.Problems, err.Error()) {
		r.Problems = append(r.Problems, err.Error())
	}
}
