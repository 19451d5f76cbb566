package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"sync"

	"rouse/agent/budget"
	"rouse/agent/search"
	"rouse/internal/chart"
	"rouse/internal/text"
	"rouse/setup"
)

// meter is how much of a limit is used.
type meter struct {
	Name, Used, Limit string
	Share             float64
}

// Near says that little is left.
func (m meter) Near() string {
	switch {
	case m.Share >= 1:
		return "used up"
	case m.Share >= 0.8:
		return "nearly used up"
	}
	return ""
}

// meters are the limits of a day beside what was used on it.
func meters(limit budget.Amount, used budget.Row, currency string) (list []meter) {
	add := func(name, of string, used, limit float64, format string) {
		if limit > 0 {
			list = append(list, meter{name, fmt.Sprintf(format, used), fmt.Sprintf(format+" %s", limit, of), used / limit})
		}
	}
	add("tokens", "tokens", float64(used.Input+used.Output), float64(limit.Tokens), "%.0f")
	add("money", currency, float64(used.Money)/1e9, float64(limit.Money)/1e9, "%.4g")
	add("calls", "calls", float64(used.Calls), float64(limit.Calls), "%.0f")
	return list
}

// costWords is what was used in words.
func costWords(used budget.Row, currency string) string {
	words := text.Count(used.Input+used.Output, "token")
	if used.Priced && used.Money > 0 {
		words += fmt.Sprintf(", %.4f %s", float64(used.Money)/1e9, currency)
	}
	return words
}

// bill is what homes used since a moment, by day, model and home, each by currency.
type bill struct {
	Moment               string
	Days, Models, Homes  []charge
	Tokens, Money        template.HTML
	Wrong                []string // why some could not be read
	limit                budget.Amount
	mu                   sync.Mutex
	days, models, byHome map[[2]string]budget.Row
}

// charge is a row of a bill.
type charge struct {
	budget.Row
	Currency string
}

// showCost shows what one home used, and costs what all of them did.
func (v *visit) showCost() (sheet, error) {
	return v.bill("Cost of "+v.name, func(b *bill, since string) error {
		b.limit = v.home.Config.Limits.Day
		return b.add(v.name, v.home, since)
	})
}

func (v *visit) costs() (sheet, error) {
	return v.bill("Cost of all homes", func(b *bill, since string) error {
		list, err := v.known()
		each(list, func(_ int, h named) {
			s, err := v.open(h)
			if err == nil {
				err = b.add(h.Name, s, since)
			}
			if err != nil {
				b.mu.Lock()
				b.Wrong = append(b.Wrong, h.Name+": "+err.Error())
				b.mu.Unlock()
			}
		})
		slices.Sort(b.Wrong)
		return err
	})
}

func (v *visit) bill(title string, fill func(b *bill, since string) error) (sheet, error) {
	b := &bill{Moment: cmp.Or(v.FormValue("since"), "30d"), days: map[[2]string]budget.Row{}, models: map[[2]string]budget.Row{}, byHome: map[[2]string]budget.Row{}}
	since, err := search.Since(b.Moment, v.Now())
	if err != nil {
		return sheet{}, wrong{http.StatusBadRequest, err}
	}
	if err := fill(b, since); err != nil {
		return sheet{}, err
	}
	b.Days, b.Models, b.Homes = charges(b.days), charges(b.models), charges(b.byHome)
	b.draw()
	slices.Reverse(b.Days)
	return sheet{template: "cost", title: title, data: b}, nil
}

// add adds what a home used.
func (b *bill) add(name string, s *setup.Setup, since string) error {
	prices, err := s.Prices()
	if err != nil {
		return err
	}
	days, err := budget.Usage(s.Home, "day", s.ModelName(), prices, since, nil)
	if err != nil {
		return err
	}
	models, err := budget.Usage(s.Home, "model", s.ModelName(), prices, since, nil)
	if err != nil {
		return err
	}
	total := budget.Total(days)
	total.Key = name
	b.mu.Lock()
	defer b.mu.Unlock()
	for to, rows := range map[*map[[2]string]budget.Row][]budget.Row{&b.days: days, &b.models: models, &b.byHome: {total}} {
		for _, r := range rows {
			key := [2]string{r.Key, prices.Currency}
			if was, ok := (*to)[key]; ok {
				r = budget.Total([]budget.Row{was, r})
			}
			(*to)[key] = r
		}
	}
	return nil
}

// charges are rows by their keys.
func charges(rows map[[2]string]budget.Row) (list []charge) {
	for _, key := range slices.SortedFunc(maps.Keys(rows), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		r := rows[key]
		r.Key = key[0]
		list = append(list, charge{r, key[1]})
	}
	return list
}

// draw draws tokens by day, and money where all of it is in one currency.
func (b *bill) draw() {
	var tokens, money []chart.Bar
	unit, mixed := "", false
	for _, d := range b.Days {
		if n := len(tokens); n == 0 || tokens[n-1].Label != d.Key[5:] {
			tokens, money = append(tokens, chart.Bar{Label: d.Key[5:]}), append(money, chart.Bar{Label: d.Key[5:]})
		}
		t, m := &tokens[len(tokens)-1], &money[len(money)-1]
		if t.Value += float64(d.Input + d.Output); d.Money > 0 {
			m.Value, mixed, unit = m.Value+float64(d.Money)/1e9, mixed || unit != "" && unit != d.Currency, d.Currency
		}
		t.Title, m.Title = fmt.Sprintf("%s: %.0f tokens", d.Key, t.Value), fmt.Sprintf("%s: %.4f %s", d.Key, m.Value, unit)
	}
	limit := func(n, scale float64) chart.Line {
		return chart.Line{Label: fmt.Sprintf("limit of a day: %.9g", n/scale), Value: n / scale}
	}
	if len(tokens) > 0 {
		b.Tokens = chart.Bars("Tokens of each day that had cycles", tokens, limit(float64(b.limit.Tokens), 1))
	}
	if unit != "" && !mixed {
		b.Money = chart.Bars("What each day cost, in "+unit, money, limit(float64(b.limit.Money), 1e9))
	}
}
