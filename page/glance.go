package page

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/pause"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/setup"
	"rouse/setup/report"
)

// glances are what the list of homes shows of each, by its folder. It is kept as long as the
// files are as they were that it was made of, so that two hundred homes are shown at once.
type glances struct {
	mu    sync.Mutex
	list  []named
	found time.Time // when the list was made
	of    map[string]*kept
	// patience is how long somebody who comes waits for rows: those that take longer come later.
	patience time.Duration
}

// kept is one of them.
type kept struct {
	mu      sync.Mutex
	stamps  [11]disk.Stamp
	checked time.Time // when the files were last looked at
	until   time.Time // when it is made anew though no file has changed
	day     spent
	shown   shown
}

// shown is a row that was made: it tells from an older one by its number.
type shown struct {
	html   template.HTML
	dir    string
	words  string // what it is found by
	needs  bool   // a person
	number int
}

// spent is what a home used on a day, up to a cycle.
type spent struct {
	day, after string
	used       budget.Row
}

// lookAgain is how long nothing is asked of the files again, however many look.
const lookAgain = 1500 * time.Millisecond

// known are the homes, as they were a moment ago.
func (s *Server) known() ([]named, error) {
	s.glances.mu.Lock()
	defer s.glances.mu.Unlock()
	if s.Now().Sub(s.glances.found) < lookAgain {
		return s.glances.list, nil
	}
	list, err := s.homes()
	if err == nil {
		s.glances.list, s.glances.found = list, s.Now()
	}
	return list, err
}

// look gives the rows of homes, as far as they are made in time: of the others the names.
func (s *Server) look(list []named) []shown {
	type row struct {
		at int
		shown
	}
	all, rows := make([]shown, len(list)), make(chan row, len(list))
	go each(list, func(i int, h named) { rows <- row{i, s.rowOf(h)} })
	late := time.After(s.glances.patience)
	for range list {
		select {
		case r := <-rows:
			all[r.at] = r.shown
			continue
		case <-late:
		}
		break
	}
	for i, h := range list {
		if all[i].number == 0 {
			all[i] = shown{html: s.part("glimpse", h), dir: h.Dir, words: strings.ToLower(h.Name + "\n" + h.Dir)}
		}
	}
	return all
}

// part is a part of the list of homes.
func (s *Server) part(name string, data any) template.HTML {
	var b bytes.Buffer
	t, err := s.templates("homes")
	if err == nil {
		err = t.ExecuteTemplate(&b, name, data)
	}
	if err != nil {
		s.Say(fmt.Sprintf("show %s: %v", name, err))
	}
	return template.HTML(b.String())
}

// each does something with homes, some at once.
func each(list []named, do func(i int, h named)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(4, len(list)) {
		wg.Go(func() {
			for i := range next {
				do(i, list[i])
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
}

// keep looks at the homes now and then, so that whoever comes finds most of it done.
func (s *Server) keep(ctx context.Context) {
	for ok := true; ok; ok = clock.Pause(ctx, lookEvery) {
		list, _ := s.known() // whoever asks is told
		for _, h := range list {
			s.rowOf(h)
		}
	}
}

// lookEvery is how often homes are looked at while nobody asks.
const lookEvery = 20 * time.Second

// rowOf is that of one home, made anew if need be.
func (s *Server) rowOf(h named) shown {
	if h.kept != nil {
		return s.rowOfKept(h)
	}
	s.glances.mu.Lock()
	r := s.glances.of[h.Dir]
	if r == nil {
		r = &kept{}
		s.glances.of[h.Dir] = r
	}
	s.glances.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.Now()
	if now.Sub(r.checked) < lookAgain && now.After(r.checked) && r.shown.number > 0 {
		return r.shown
	}
	r.checked = now
	if stamps := stampsOf(home.Home{Dir: h.Dir}); stamps != r.stamps || now.After(r.until) || r.shown.number == 0 {
		r.stamps = stamps
		r.make(s, h)
	}
	return r.shown
}

// stampsOf are those of all that a row is made of. A cycle that begins or ends changes the folders.
func stampsOf(h home.Home) (stamps [11]disk.Stamp) {
	for i, path := range []string{h.Config(), h.Env(), h.Prices(), h.Logs(), h.Memory(), h.Slots(), h.Approvals(), h.Stop(), h.VersionFile(), h.Resumed(), h.Told()} {
		stamps[i] = disk.StampOf(path)
	}
	return stamps
}

// overview is what a row shows.
type overview struct {
	named
	Wrong    string // why it cannot be opened
	Newest   *agent.Summary
	Strip    template.HTML
	Slots    string
	Next     *time.Time
	Due      bool // it should have begun
	Paused   bool
	Failed   int // of those slots
	Cost     string
	Limits   []meter
	Problems []string
}

func (r *kept) make(s *Server, h named) {
	now := s.Now()
	y, m, d := now.Local().Date()
	r.until = time.Date(y, m, d+1, 0, 0, 0, 0, time.Local)
	g := overview{named: h}
	if home, err := s.Open(h.Dir); err != nil {
		g.Wrong = err.Error()
	} else {
		r.fill(&g, home)
	}
	words := strings.ToLower(strings.Join(append(g.Problems, h.Name, h.Dir, g.Wrong, g.Slots), "\n"))
	if g.Failed > 0 {
		words += "\nfailed"
	}
	if g.Paused {
		words += "\npaused"
	}
	if g.Newest != nil {
		words += "\n" + g.Newest.Outcome + "\n" + g.Newest.Task
	}
	r.shown = shown{s.part("glance", g), h.Dir, words, g.Wrong != "" || len(g.Problems) > 0, r.shown.number + 1}
}

// fill reads the home. Nothing of it is locked, and of its journals only ends and those of today.
func (r *kept) fill(g *overview, s *setup.Setup) {
	soon := func(t time.Time) {
		if t.Before(r.until) {
			r.until = t
		}
	}
	hide := s.Hidden()
	problem := func(err error) {
		if err != nil {
			g.Problems = append(g.Problems, err.Error())
		}
	}
	newest := &agent.Summary{}
	list, err := agent.Summaries(s.Home, 1)
	if problem(err); len(list) > 0 {
		newest, g.Newest = &list[0], &list[0]
	}
	st := s.Glance(newest)
	if len(st.Problems) > 0 {
		soon(s.Now().Add(5 * time.Minute)) // what waits may wait in vain
	}
	for _, p := range st.Problems {
		g.Problems = append(g.Problems, hide.String(p))
	}
	if n := len(st.Undelivered); n > 0 {
		g.Problems = append(g.Problems, text.Count(n, "message")+" to you could not be sent")
	}
	_, g.Paused = pause.Paused(s.Home.Stop())
	if newest.Exit != 0 || newest.Outcome == agent.Interrupted {
		g.Problems = append(g.Problems, "the newest cycle failed: "+newest.Error)
	}
	if newest.Outcome == agent.Awake {
		soon(s.Now().Add(2 * time.Second))
	}
	if g.Next = st.NextSlot; g.Next != nil {
		if g.Due = !g.Next.After(s.Now()); g.Due {
			soon(s.Now().Add(time.Minute)) // how late it is, is a problem soon
		} else {
			soon(*g.Next)
		}
	}
	records, err := s.Slots().Newest(60)
	problem(err)
	slots := make([]setup.Slot, len(records))
	for i, record := range records {
		slots[i] = setup.SlotOf(record)
		if failed(slots[i]) {
			g.Failed++
		}
	}
	g.Strip, g.Slots = report.Strip(slots, false), report.SlotWords(slots)
	problem(r.addCost(g, s, newest))
}

// addCost adds what was used today, as the journals say; those that ended are read once.
func (r *kept) addCost(g *overview, s *setup.Setup, newest *agent.Summary) error {
	day := s.Now().Local().Format(home.CycleForm[:8])
	if r.day.day != day {
		r.day = spent{day: day, after: day, used: budget.Row{Priced: true}}
	}
	prices, err := s.Prices()
	if err != nil {
		return err
	}
	after := newest.Cycle + "!" // which comes before the next cycle
	if newest.Outcome == agent.Awake {
		after = newest.Cycle // what it uses counts when it has ended
	}
	if after > r.day.after {
		rows, err := budget.Usage(s.Home, "cycle", s.ModelName(), prices, r.day.after, nil)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(row budget.Row) bool { return row.Key >= after })
		r.day.after, r.day.used = after, budget.Total(append(rows, r.day.used))
	}
	used := r.day.used
	g.Cost, g.Limits = costWords(used, prices.Currency), meters(s.Config.Limits.Day, used, prices.Currency)
	return nil
}
