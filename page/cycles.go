package page

import (
	"cmp"
	"slices"

	"rouse/agent"
	"rouse/journal"
)

const (
	mostCycles = 50       // on a page
	mostLooked = 2000     // cycles that are looked at for them
	maxCounted = 16 << 20 // bytes of a journal of which a list says what it cost
)

// verdicts are those that a list can be of.
func verdicts() []string {
	return []string{journal.TaskProven, journal.TaskClaimed, journal.TaskFailed, journal.TaskNone}
}

// cyclesData is what a list of cycles shows.
type cyclesData struct {
	Path, Verdict, Currency string
	Verdicts                []string
	Cycles                  []cycleLine
	// Next is the cycle before which the next page goes on, "" at the end, and Looked how
	// many cycles were looked at for this one.
	Next   string
	Looked int
}

// cycleLine is one of them.
type cycleLine struct {
	agent.Summary
	Path, Money string
	Broken      string // why there is nothing else
}

// listCycles lists the newest cycles, or those before one, of a verdict.
func (v *visit) listCycles() (sheet, error) {
	data := cyclesData{Path: v.path("cycles"), Verdicts: verdicts(), Verdict: v.FormValue("task")}
	if !slices.Contains(data.Verdicts, data.Verdict) {
		data.Verdict = ""
	}
	ids, err := v.home.Home.Cycles(0)
	if err != nil {
		return sheet{}, err
	}
	before := v.FormValue("before")
	for i, id := range ids {
		if before != "" && id >= before {
			continue
		}
		if data.Looked++; len(data.Cycles) == mostCycles || data.Looked > mostLooked {
			data.Next = ids[i-1]
			break
		}
		if l := v.cycleLine(id); data.Verdict == "" || l.Task == data.Verdict || l.Task == "" && data.Verdict == journal.TaskNone {
			data.Cycles = append(data.Cycles, l)
		}
	}
	for i := range data.Cycles {
		var currency string
		data.Cycles[i].Money, currency = v.spent(data.Cycles[i].Cycle)
		data.Currency = cmp.Or(currency, data.Currency)
	}
	return sheet{template: "cycles", title: "Cycles of " + v.name, data: data}, nil
}

func (v *visit) cycleLine(id string) cycleLine {
	l := cycleLine{Path: v.path("cycles", id)}
	var err error
	if l.Summary, err = agent.SummaryOf(v.home.Home, id); err != nil {
		l.Broken = v.hide(err.Error())
	}
	return l
}

// spent is what a cycle cost.
func (v *visit) spent(id string) (money, currency string) {
	d, err := v.drawing(id)
	if err != nil {
		return "", ""
	}
	defer d.file.Close()
	if info, err := d.file.Stat(); err != nil || info.Size() > maxCounted {
		return "large log", ""
	}
	s := &spending{drawing: d}
	for m := range journal.Scan(d.file) {
		if m.Event == "reply" {
			s.add(m)
		}
	}
	return s.String(), d.prices.Currency
}
