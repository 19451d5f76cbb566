package page

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"rouse/agent"
	"rouse/agent/inbox"
	"rouse/agent/search"
	"rouse/setup"
	"rouse/setup/report"
)

// standing is a home: what happened in it, what it remembers, and what is to come.
type standing struct {
	report.Report
	Moment string // since when
	Part   template.HTML
	Meters []meter
	Tasks  []entry
	Told   []inbox.Item // that no cycle has slept over yet
	Awake  *agent.Summary
	Memory []entry
	Past   []setup.Slot
	Coming [2][]setup.Coming // the next ones, and those after them
}

// soonest is how many slots to come are shown at once.
const soonest = 5

// showHome shows one home.
func (v *visit) showHome() (sheet, error) {
	d := standing{Moment: cmp.Or(v.FormValue("since"), "24h")}
	var err error
	if d.Report, err = report.Since(v.home, d.Moment); err != nil {
		if errors.As(err, new(*search.QueryError)) {
			err = wrong{http.StatusBadRequest, err}
		}
		return sheet{}, err
	}
	d.Part, err = d.Report.Part(func(id string) template.HTML {
		id = template.HTMLEscapeString(id)
		return template.HTML(fmt.Sprintf(`<a href="%s">%s</a>`, v.path("cycles", id), id))
	})
	if err != nil {
		return sheet{}, err
	}
	for _, u := range d.Limits {
		used, _ := u.UsedValue.Float64()
		limit, _ := u.LimitValue.Float64()
		d.Meters = append(d.Meters, meter{u.Name, u.Used, u.Limit, used / max(limit, 1e-9)})
	}
	list, _ := memory(v.home.Home) // why not is among the problems
	d.Tasks = tasks(list)
	d.Memory = slices.DeleteFunc(list, func(e entry) bool {
		return slices.ContainsFunc(d.Tasks, func(t entry) bool { return t.Key == e.Key })
	})
	d.Past, _ = v.home.NewestSlots(50)
	coming := v.home.Coming(50)
	next := min(soonest, len(coming))
	d.Coming = [2][]setup.Coming{coming[:next], coming[next:]}
	if newest, err := agent.Summaries(v.home.Home, 1); err == nil && len(newest) > 0 && newest[0].Outcome == agent.Awake {
		d.Awake = &newest[0]
	}
	d.Told, _ = inbox.List(v.home.Home.Inbox()) // the cycle says which cannot be read
	hide := v.home.Hidden()
	for i := range d.Told {
		d.Told[i].Task = hide.String(d.Told[i].Task)
	}
	return sheet{template: "home", title: v.name, data: d}, nil
}
