package page

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"rouse/agent"
	"rouse/internal/text"
	"rouse/journal"
)

// maxPart is how much of one text of a call or request a page shows, in bytes.
const maxPart = 64 << 10

// stepData is what the page of a call shows.
type stepData struct {
	Cycle         string
	Row           row
	Args          []piece
	Result        *journal.Result
	Shown         piece // what the model was shown
	Changes       []piece
	Pictures      []image
	Before, After int
}

// piece is a text with its name, of which no more than a page can show.
type piece struct {
	Name, Text string
	Cut        int // bytes that are left out
}

// image is one that the model was shown.
type image struct{ Path, Alt string }

// showStep shows all that is known of one call.
func (v *visit) showStep() (sheet, error) {
	id, err := v.cycle()
	if err != nil {
		return sheet{}, err
	}
	n, _ := strconv.Atoi(v.PathValue("step"))
	d, err := v.drawing(id)
	if err != nil {
		return sheet{}, err
	}
	defer d.file.Close()
	l, last := &lines{}, 0
	for m, err := range journal.Scan(d.file) {
		if err != nil {
			return sheet{}, err
		}
		if last = max(last, m.Step); m.Step == n && n > 0 {
			l.marks = append(l.marks, m)
		}
	}
	if len(l.marks) == 0 {
		return sheet{}, fmt.Errorf("there is no step %d in this cycle: %w", n, fs.ErrNotExist)
	}
	data := &stepData{Cycle: id, Before: n - 1}
	if n < last {
		data.After = n + 1
	}
	v.parts(d, data, l.marks)
	s, _ := agent.SummaryOf(v.home.Home, id) // else it is not awake
	data.Row = d.row(l, s.Outcome == agent.Awake && data.Result == nil)
	return sheet{template: "step", title: fmt.Sprintf("Step %d of cycle %s", n, id), data: data}, nil
}

// parts are the texts of a call.
func (v *visit) parts(d *drawing, data *stepData, marks []journal.Mark) {
	for _, m := range marks {
		e, err := d.event(m)
		if err != nil {
			continue // the row says so
		}
		switch p := e.Data.(type) {
		case *journal.Intent:
			data.Args = fields(p.Args)
		case *journal.Result:
			data.Result, data.Shown = p, cut("", p.Shown())
			for _, i := range p.Images {
				data.Pictures = append(data.Pictures, v.image(i))
			}
			for _, c := range p.Changes {
				data.Changes = append(data.Changes, cut(c.Op+" "+c.Key, fmt.Sprint(c.Value)))
			}
		}
	}
}

func (v *visit) image(p journal.Picture) image {
	return image{v.path("observations", p.ID, "picture"), "picture " + text.Line(p.ID, 60)}
}

func cut(name, s string) piece {
	return piece{name, text.CutBytes(s, maxPart), max(0, len(s)-maxPart)}
}

// fields are the members of an object, each as text: code as it was written.
func fields(raw json.RawMessage) (list []piece) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return []piece{cut("", string(raw))}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := string(all[name])
		_ = json.Unmarshal(all[name], &s) // what is no text stays JSON
		list = append(list, cut(name, s))
	}
	return list
}
