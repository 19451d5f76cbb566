package budget

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"rouse/home"
	"rouse/journal"
)

// Row is what a day, a cycle or a model has used, as the journals say.
type Row struct {
	Key      string `json:"-"` // a local day such as 2026-04-30, a cycle, or a model
	Cycles   int    `json:"cycles"`
	Requests int    `json:"requests"` // that were answered
	Input    int64  `json:"input"`
	Cached   int64  `json:"cached"` // of Input
	Output   int64  `json:"output"`
	Calls    int    `json:"calls"` // of tools
	Money    Money  `json:"-"`
	// Priced says that every model in it has a price.
	Priced bool `json:"-"`
}

// Usage sums up the journals of a home, by "day", "cycle" or "model",
// in the order of the keys, of the cycles from since on, "" of all. Replies whose journal names no model are those of
// model. Requests that were not answered are not in it. Who wants more of the journals than
// that gets their lines from each, unless it is nil, and need not read them again.
func Usage(h home.Home, by, model string, prices Prices, since string, each func(cycle string, line []byte)) ([]Row, error) {
	cycles, err := h.Cycles(0)
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	u := usage{by: by, model: model, prices: prices, each: each, rows: map[string]*Row{}}
	for _, id := range slices.Backward(cycles) {
		if id < since {
			continue
		}
		if err := u.add(h.Journal(id), id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("usage: %w", err)
		}
	}
	rows := make([]Row, 0, len(u.rows))
	for _, r := range slices.SortedFunc(maps.Values(u.rows), func(a, b *Row) int { return cmp.Compare(a.Key, b.Key) }) {
		rows = append(rows, *r)
	}
	return rows, nil
}

// Total sums up rows of days or cycles.
func Total(rows []Row) Row {
	sum := Row{Key: "total", Priced: true}
	for _, r := range rows {
		sum.Cycles, sum.Requests, sum.Calls = sum.Cycles+r.Cycles, sum.Requests+r.Requests, sum.Calls+r.Calls
		sum.Input, sum.Cached, sum.Output = sum.Input+r.Input, sum.Cached+r.Cached, sum.Output+r.Output
		sum.Money, sum.Priced = sum.Money+r.Money, sum.Priced && r.Priced
	}
	return sum
}

type usage struct {
	by, model string
	prices    Prices
	each      func(cycle string, line []byte)
	rows      map[string]*Row
}

// add counts one journal; only the lines that matter are parsed.
func (u *usage) add(path, cycle string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	seen := map[*Row]bool{}
	row := func(model string) *Row {
		r := u.row(u.key(cycle, model))
		if !seen[r] {
			seen[r], r.Cycles = true, r.Cycles+1
		}
		return r
	}
	if u.by != "model" {
		row("")
	}
	model := u.model
	for line := range bytes.Lines(data) {
		if u.each != nil {
			u.each(cycle, line)
		}
		result := bytes.Contains(line, []byte(`"event":"result"`))
		if !result && !bytes.Contains(line, []byte(`"event":"reply"`)) {
			continue
		}
		for e := range journal.ReadFrom(bytes.NewReader(line)) {
			switch d := e.Data.(type) {
			case *journal.Reply:
				model = cmp.Or(d.Model, u.model)
				u.count(row(model), model, d.Usage)
			case *journal.Result:
				if d.Tool != "done" && d.Tool != "update_scratchpad" { // these are no tools
					row(model).Calls++ // asked for by the latest reply
				}
			}
		}
	}
	return nil
}

func (u *usage) key(cycle, model string) string {
	switch u.by {
	case "model":
		return model
	case "day":
		if len(cycle) >= 8 {
			return cycle[:4] + "-" + cycle[4:6] + "-" + cycle[6:8]
		}
	}
	return cycle
}

func (u *usage) row(key string) *Row {
	if u.rows[key] == nil {
		u.rows[key] = &Row{Key: key, Priced: true}
	}
	return u.rows[key]
}

func (u *usage) count(r *Row, model string, used journal.Usage) {
	input, cached, output := int64(used.Input), int64(used.Cached), int64(used.Output)
	r.Requests, r.Input, r.Cached, r.Output = r.Requests+1, r.Input+input, r.Cached+cached, r.Output+output
	price, ok := u.prices.Of(model)
	r.Money += price.Cost(used)
	r.Priced = r.Priced && (ok || input+output == 0)
}
