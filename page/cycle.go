package page

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/journal"
)

// cycleData is what the page of a cycle shows.
type cycleData struct {
	agent.Summary
	Path      string
	Attention []string
	Rows      []row
	Count     int // of all rows
	// Before and After are the first rows of the pages around this one, 0 for none.
	Before, After int
	Money         string
	Currency      string
	Gone          string // why there is no journal
	Live          string // where more rows come from
	Ended         *journal.Sleep
}

// Last is the first row of the last page.
func (c *cycleData) Last() int { return max(1, c.Count-mostRows+1) }

// showCycle shows what a cycle did: its requests, calls and checks as a waterfall.
func (v *visit) showCycle() (sheet, error) {
	id, err := v.cycle()
	if err != nil {
		return sheet{}, err
	}
	data := &cycleData{Path: v.path("cycles", id)}
	data.Summary, err = agent.SummaryOf(v.home.Home, id)
	if err != nil {
		if data.Gone = v.hide(err.Error()); errors.Is(err, fs.ErrNotExist) {
			data.Gone = "it was removed"
		}
		return sheet{template: "cycle", title: "Cycle " + id, data: data}, nil
	}
	data.Attention = data.Summary.Attention(v.home.Home)
	if last, err := journal.Last(v.home.Home.Journal(id)); err == nil {
		data.Ended, _ = last.Data.(*journal.Sleep)
	}
	return sheet{template: "cycle", title: "Cycle " + id, data: data}, v.rows(data)
}

// rows adds those that the page is to have.
func (v *visit) rows(data *cycleData) error {
	d, err := v.drawing(data.Cycle)
	if err != nil {
		return err
	}
	defer d.file.Close()
	awake := data.Outcome == agent.Awake
	from, _ := strconv.Atoi(v.FormValue("from"))
	if from < 1 && !awake {
		from = 1
	}
	sum := &spending{drawing: d}
	w := &waterfall{from: max(0, from), spent: sum.add}
	for m, err := range journal.Scan(d.file) {
		if err != nil {
			return err
		}
		w.add(m)
	}
	data.Money, data.Currency, data.Count = sum.String(), d.prices.Currency, w.count
	for _, l := range w.shown() {
		data.Rows = append(data.Rows, d.row(l, awake && w.isOpen(l)))
	}
	d.scale(data.Rows, awake, v.Now())
	if n := len(data.Rows); n > 0 {
		data.Before, data.After = max(0, data.Rows[0].N-mostRows), data.Rows[n-1].N+1
		if data.Rows[0].N > 1 {
			data.Before = max(1, data.Before)
		}
		if data.After > w.count {
			data.After = 0
		}
	}
	if awake && data.After == 0 {
		data.Live = data.Path + "/events?after=" + strconv.Itoa(w.last) + "&from=" + stamp(d.from) + "&until=" + stamp(d.until)
	}
	return nil
}

func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// drawing opens the journal of a cycle, of which something is to be drawn.
func (v *visit) drawing(id string) (*drawing, error) {
	prices, _ := v.home.Prices() // without them nothing has a price
	d := &drawing{model: v.home.ModelName(), prices: prices, path: func(parts ...string) string { return v.path(append([]string{"cycles", id}, parts...)...) }}
	first, err := journal.First(v.home.Home.Journal(id))
	if err == nil {
		d.zero = first.Time
		if w, ok := first.Data.(*journal.Wake); ok && !v.home.Home.Elsewhere {
			d.owner = w.Owner
		}
		d.file, err = os.Open(v.home.Home.Journal(id))
	}
	if err != nil {
		err = wrong{http.StatusNotFound, err}
	}
	return d, err
}

// scale says from when to when bars go, and draws them. Those of a cycle that is awake have room for as much again.
func (d *drawing) scale(rows []row, awake bool, now time.Time) {
	if len(rows) == 0 {
		return
	}
	d.from, d.until = rows[0].began, rows[0].ended
	for _, r := range rows {
		if r.ended.After(d.until) {
			d.until = r.ended
		}
		if r.began.Before(d.from) {
			d.from = r.began
		}
	}
	if awake {
		d.until = now.Add(max(time.Minute, now.Sub(d.from)))
	}
	for i := range rows {
		d.draw(&rows[i])
	}
}

// cost is what a request cost, if its model has a price.
func (d *drawing) cost(model string, used journal.Usage) (budget.Money, bool) {
	price, ok := d.prices.Of(cmp.Or(model, d.model))
	return price.Cost(used), ok || used.Input+used.Output == 0
}

// spending adds up what requests cost.
type spending struct {
	*drawing
	money   budget.Money
	unknown bool
}

// add takes in a line with a reply.
func (s *spending) add(m journal.Mark) {
	model, used, known := m.Spent()
	cost, ok := s.cost(model, used)
	s.money += cost
	s.unknown = s.unknown || !ok || !known
}

func (s *spending) String() string {
	if s.unknown {
		return "not known"
	}
	return money(s.money)
}
