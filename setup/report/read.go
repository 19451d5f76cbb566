package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"rouse/agent/pause"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad/origin"
)

// Of what was said, the newest notes and ends of cycles are kept, each cut to so many
// characters.
const (
	mostSaid   = 50
	saidLength = 500
)

// mostAlike is how many kinds of failed calls, failures and doubts are kept, the newest.
const mostAlike = 50

// reading is what journals say, read once, the oldest first: only lines that matter are
// parsed.
type reading struct {
	since  string // cycles before it are only counted
	cycle  string
	asked  map[int]string // hosts, by the step of the call
	denied map[int]string // rules, by the step of the call
	hosts  map[string]int
	from   map[string]int // cycles, by the origin
	calls  alike[Call]
	missed map[string]int // all of calls, by what became of them
	said   []spoken
}

// spoken is a line that is parsed if it is among the newest.
type spoken struct {
	cycle string
	line  []byte
}

func newReading(since string) *reading {
	return &reading{since: since, hosts: map[string]int{}, from: map[string]int{}, missed: map[string]int{}}
}

// line takes in a line of a cycle's journal.
func (r *reading) line(cycle string, line []byte) {
	if cycle < r.since {
		return
	}
	if cycle != r.cycle {
		r.cycle, r.asked, r.denied = cycle, map[int]string{}, map[int]string{}
	}
	_, kind, _ := bytes.Cut(line, []byte(`"event":"`))
	kind, _, _ = bytes.Cut(kind, []byte(`"`))
	has := func(part string) bool { return bytes.Contains(line, []byte(part)) }
	switch string(kind) {
	case "note":
		r.say(line)
	case "result":
		if has(`"tool":"done","ok":true`) {
			r.say(line)
		} else if has(`"ok":false`) || has(`"tool":"http_get"`) {
			r.parse(line)
		}
	case "intent":
		if has(`"tool":"http_get"`) {
			r.parse(line)
		}
	case "policy", "origin":
		r.parse(line)
	}
}

func (r *reading) say(line []byte) {
	r.said = append(r.said, spoken{r.cycle, bytes.Clone(line)})
	r.said = r.said[max(0, len(r.said)-mostSaid):]
}

func (r *reading) parse(line []byte) {
	for e := range journal.ReadFrom(bytes.NewReader(line)) {
		switch d := e.Data.(type) {
		case *journal.Intent:
			r.asked[d.Step] = hostOf(d.Args)
		case *journal.Policy:
			if d.Do != "allow" {
				r.denied[d.Step] = d.Do
			}
		case *journal.Origin:
			for _, name := range origin.Set(d.From).Outside() {
				r.from[name]++
			}
		case *journal.Result:
			if host := r.asked[d.Step]; d.OK && host != "" {
				r.hosts[host]++
			} else if !d.OK {
				r.miss(d)
			}
		}
	}
}

// miss counts a call that did not do what it was to.
func (r *reading) miss(d *journal.Result) {
	how := CallFailed
	switch {
	case r.denied[d.Step] == "ask":
		how = CallAsked
	case r.denied[d.Step] != "":
		how = CallDenied
	case d.Tool == "done" || d.Tool == "update_scratchpad" || strings.Contains(d.Error, "the operator can "):
		how = CallRefused
	}
	r.missed[how]++
	why := text.Cut(d.Error, saidLength)
	r.calls.add(how+" "+d.Tool+" "+pause.Cause(why), func(was Call) Call { return Call{r.cycle, d.Step, d.Tool, on(d), how, why, was.Count + 1} })
}

// on is what a call was about, by the note of it: not every one that is refused has its arguments
// elsewhere.
func on(d *journal.Result) string {
	for _, c := range d.Changes {
		note, _ := c.Value.(string)
		_, args, found := strings.Cut(note, "] "+d.Tool+"(")
		if !found {
			continue
		}
		var given map[string]json.RawMessage
		if json.NewDecoder(strings.NewReader(args)).Decode(&given) == nil {
			for _, name := range []string{"command", "url", "path", "code", "query"} {
				var value string
				if json.Unmarshal(given[name], &value) == nil {
					return text.Line(value, 200)
				}
			}
		}
		args, _, _ = strings.Cut(args, ") → ")
		return text.Line(args, 200)
	}
	return ""
}

// spoken are the notes, and what was said when cycles were done.
func (r *reading) spoken() []Said {
	list := []Said{}
	for _, s := range r.said {
		for e := range journal.ReadFrom(bytes.NewReader(s.line)) {
			switch d := e.Data.(type) {
			case *journal.Note:
				list = append(list, Said{s.cycle, "note", text.Cut(d.Text, saidLength)})
			case *journal.Result:
				list = append(list, Said{s.cycle, "done", text.Cut(d.Shown(), saidLength)})
			}
		}
	}
	return list
}

// counts are names by how often they were there.
func counts(of map[string]int) []Count {
	list := []Count{}
	for name, n := range of {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name)) })
	return list
}

// alike keeps the newest of what has one cause.
type alike[T any] struct {
	causes []string // the newest last
	of     map[string]T
}

// add takes in the next, which may count on from the one before.
func (a *alike[T]) add(cause string, next func(before T) T) {
	if i := slices.Index(a.causes, cause); i >= 0 {
		a.causes = slices.Delete(a.causes, i, i+1)
	} else if a.of == nil {
		a.of = map[string]T{}
	}
	a.causes, a.of[cause] = append(a.causes, cause), next(a.of[cause])
	if len(a.causes) > mostAlike {
		delete(a.of, a.causes[0])
		a.causes = a.causes[1:]
	}
}

// list has the newest first.
func (a *alike[T]) list() []T {
	list := []T{}
	for _, cause := range slices.Backward(a.causes) {
		list = append(list, a.of[cause])
	}
	return list
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
