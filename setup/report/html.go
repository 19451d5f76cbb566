package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/internal/chart"
	"rouse/internal/text"
	"rouse/setup"
)

//go:embed report.html
var htmlPage string

// HTML writes reports as one document that needs nothing else: all that an agent wrote is text
// in it, of which nothing hides and no link is one.
func HTML(w io.Writer, list []Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"line":     func(n int, s string) string { return text.Line(s, n) },
		"when":     clock,
		"strip":    Strip,
		"bars":     Report.Bars,
		"slots":    slotWords,
		"keys":     func(r Report) []Key { return Keys(r.Memory, 0) },
		"last":     func(r Report, lines []string) []string { return last(lines, 30, r.diff()) },
		"newest":   newestCycles,
		"newestOf": func(kind string, r Report) []Said { return r.newest(kind) },
	}).Parse(htmlPage)
	if err == nil {
		err = t.Execute(w, list)
	}
	return err
}

// newestCycles are those that are named, the newest first.
func newestCycles(list []agent.Summary) []agent.Summary {
	list = slices.Clone(list[max(0, len(list)-30):])
	slices.Reverse(list)
	return list
}

// Strip draws the newest slots.
func Strip(slots []setup.Slot) template.HTML {
	looks := map[string]string{"#": chart.Good, "x": chart.Bad, "!": chart.Warn, "-": chart.Quiet, ".": chart.Open}
	var marks []chart.Mark
	for _, s := range slots[max(0, len(slots)-mostSlots):] {
		sign, _ := sign(s)
		said := strings.Fields(strings.Join([]string{clock(s.Slot) + ":", string(s.Status), s.Reason, s.Task, s.Error}, " "))
		marks = append(marks, chart.Mark{Look: looks[sign], Title: strings.Join(said, " ")})
	}
	return chart.Strip("Slots, the newest last: "+slotWords(slots), marks)
}

// Bars draws what each day cost beside the limit of a day: money, where there is a price.
func (r Report) Bars() template.HTML {
	inMoney := slices.ContainsFunc(r.Cost.Days, func(d Day) bool { return d.Money > 0 })
	name, unit, of := "day_tokens", "tokens", func(d Day) float64 { return float64(d.Tokens) }
	if inMoney {
		name, unit, of = "day_money", r.Cost.Currency, func(d Day) float64 { return float64(d.Money) / 1e9 }
	}
	if !slices.ContainsFunc(r.Cost.Days, func(d Day) bool { return of(d) > 0 }) {
		return ""
	}
	var bars []chart.Bar
	for _, d := range r.Cost.Days {
		bars = append(bars, chart.Bar{Label: d.Day[5:], Title: fmt.Sprintf("%s: %.6g %s", d.Day, of(d), unit), Value: of(d)})
	}
	var line chart.Line
	if i := slices.IndexFunc(r.Limits, func(u budget.Use) bool { return u.Name == name }); i >= 0 {
		line.Label = "limit of a day: " + r.Limits[i].Limit
		line.Value, _ = r.Limits[i].LimitValue.Float64()
	}
	return chart.Bars("What each day cost, in "+unit, bars, line)
}

// Attention counts what waits for a person.
func (r Report) Attention() (n int) {
	for _, a := range r.Approvals {
		if a.Answer != "" {
			n++
		}
	}
	return n + len(r.Problems)
}
