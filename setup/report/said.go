package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
)

// Of what was said, the newest notes and ends of cycles are kept, each cut to so many
// characters.
const (
	mostSaid   = 50
	saidLength = 500
)

// addSaid reads the journals of the cycles: only lines that matter are parsed.
func (r *Report) addSaid(h home.Home) error {
	hosts := map[string]int{}
	for _, c := range slices.Backward(r.Cycles) {
		data, err := os.ReadFile(h.Journal(c.Cycle))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		said := reading{cycle: c.Cycle, asked: map[int]string{}, hosts: hosts, notes: len(r.Said) < mostSaid}
		for line := range bytes.Lines(data) {
			said.line(line)
		}
		slices.Reverse(said.said)
		r.Said = append(r.Said, said.said[:min(len(said.said), mostSaid-min(mostSaid, len(r.Said)))]...)
	}
	slices.Reverse(r.Said)
	for name, n := range hosts {
		r.Hosts = append(r.Hosts, Count{name, n})
	}
	slices.SortFunc(r.Hosts, func(a, b Count) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name)) })
	return nil
}

// reading is one journal that is read.
type reading struct {
	cycle string
	notes bool
	asked map[int]string // hosts, by the step of the call
	hosts map[string]int
	said  []Said
}

func (r *reading) line(line []byte) {
	note := r.notes && bytes.Contains(line, []byte(`"event":"note"`))
	done := r.notes && bytes.Contains(line, []byte(`"tool":"done","ok":true`))
	get := bytes.Contains(line, []byte(`"tool":"http_get"`))
	if !note && !done && !get {
		return
	}
	for e := range journal.ReadFrom(bytes.NewReader(line)) {
		switch d := e.Data.(type) {
		case *journal.Note:
			if r.notes {
				r.add("note", d.Text)
			}
		case *journal.Intent:
			r.asked[d.Step] = hostOf(d.Args)
		case *journal.Result:
			if host := r.asked[d.Step]; d.OK && host != "" {
				r.hosts[host]++
			} else if done && d.Tool == "done" {
				r.add("done", d.Shown())
			}
		}
	}
}

func (r *reading) add(kind, said string) {
	r.said = append(r.said, Said{r.cycle, kind, text.Cut(said, saidLength)})
}

// hostOf is the host that a call asks.
func hostOf(args json.RawMessage) string {
	var given struct{ URL string }
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	u, err := url.Parse(given.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
