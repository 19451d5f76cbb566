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
	t, err := parsed(func(id string) template.HTML { return template.HTML(template.HTMLEscapeString(id)) })
	if err == nil {
		err = t.Execute(w, list)
	}
	return err
}

// Part is what [HTML] says of one home, to stand in another page. cycle makes a link of the id of one.
func (r Report) Part(cycle func(id string) template.HTML) (template.HTML, error) {
	var b strings.Builder
	t, err := parsed(cycle)
	if err == nil {
		err = t.ExecuteTemplate(&b, "part", r)
	}
	return template.HTML(b.String()), err
}

func parsed(cycle func(id string) template.HTML) (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{
		"cycle": cycle,
		"line":  func(n int, s string) string { return text.Line(s, n) },
		"when":  clock,
		"strip": func(slots []setup.Slot) template.HTML { return Strip(slots, true) },
		"bars":  Report.Bars,
		"slots": SlotWords,
		"keys":  func(r Report) []Key { return Keys(r.Memory, 0) },
		"last":  func(r Report, lines []string) []string { return last(lines, 30, r.diff()) },
		"newest": func(list []agent.Summary) []agent.Summary { // first
			list = slices.Clone(list[max(0, len(list)-30):])
			slices.Reverse(list)
			return list
		},
		"newestOf": func(kind string, r Report) []Said { return r.newest(kind) },
	}).Parse(htmlPage)
}

// Strip draws the newest slots, if titles are wanted with what became of each.
func Strip(slots []setup.Slot, titles bool) template.HTML {
	looks := map[string]string{"#": chart.Good, "x": chart.Bad, "!": chart.Warn, "-": chart.Quiet, ".": chart.Open}
	var marks []chart.Mark
	for _, s := range slots[max(0, len(slots)-mostSlots):] {
		sign, _ := sign(s)
		mark := chart.Mark{Look: looks[sign]}
		if titles {
			said := strings.Fields(strings.Join([]string{clock(s.Slot) + ":", string(s.Status), s.Reason, s.Task, s.Error}, " "))
			mark.Title = strings.Join(said, " ")
		}
		marks = append(marks, mark)
	}
	return chart.Strip("Slots, the newest last: "+SlotWords(slots), marks)
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
