package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
)

// Sums are values by metric and attributes, as [Sums.Add] takes them.
type Sums map[string]float64

// Add adds to a value; labels are names and values in turn. Of values that a model made up,
// such as names of tools, no more than maxSums are told apart.
func (s Sums) Add(m Metric, n float64, labels ...string) {
	key := string(m)
	for _, l := range labels {
		key += "\x00" + text.CutBytes(text.Line(l, maxLabel), maxLabel)
	}
	if _, known := s[key]; !known && len(s) >= maxSums && m == Calls {
		key = strings.Join([]string{string(m), Tool, "other", Outcome, labels[3]}, "\x00")
	}
	s[key] += n
}

// maxSums and maxLabel keep what models call from growing without end where it is kept.
const maxSums, maxLabel = 1000, 128

// split is what a key was made of.
func split(key string) (m Metric, labels []string) {
	parts := strings.Split(key, "\x00")
	return Metric(parts[0]), parts[1:]
}

// Of are the values with one more label.
func (s Sums) Of(label, value string) Sums {
	all := Sums{}
	for key, n := range s {
		all[key+"\x00"+label+"\x00"+value] = n
	}
	return all
}

// Prometheus is the text that Prometheus reads.
func (s Sums) Prometheus() []byte {
	var b bytes.Buffer
	last := Metric("")
	for _, key := range slices.Sorted(maps.Keys(s)) {
		m, labels := split(key)
		if name := m.prometheus(); m != last {
			last = m
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, m.part(3), strings.Replace(m.part(2), "count", "counter", 1))
		}
		var pairs []string
		for i := 0; i < len(labels); i += 2 {
			value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(labels[i+1], "\ufffd"))
			pairs = append(pairs, strings.ReplaceAll(labels[i], ".", "_")+`="`+value+`"`)
		}
		fmt.Fprintf(&b, "%s{%s} %s\n", m.prometheus(), strings.Join(pairs, ","), strconv.FormatFloat(s[key], 'f', -1, 64))
	}
	return b.Bytes()
}

// Meter counts what the cycles of a day came to, each once, when it has ended.
type Meter struct {
	Day  string `json:"day"`
	Upto string `json:"upto"` // the newest cycle that was counted
	Sums Sums   `json:"sums"`
	// Cost is what a reply cost, if that is known.
	Cost func(model string, u journal.Usage) (float64, bool) `json:"-"`
	// Name is that of a model, where a journal has none.
	Name, Currency string `json:"-"`
}

// Update counts the cycles that have ended since the last time. The first time these are those that
// began today.
func (m *Meter) Update(h home.Home, now time.Time) error {
	if day := now.Format(time.DateOnly); m.Day != day {
		m.Day, m.Sums = day, Sums{}
	}
	if m.Upto == "" {
		m.Upto = strings.ReplaceAll(m.Day, "-", "")
	}
	ids, err := h.Cycles(0)
	for i, id := range slices.Backward(ids) {
		if id <= m.Upto {
			continue
		}
		before := m.Sums
		if i == 0 {
			before = maps.Clone(before)
		}
		if ended, err := m.read(h.Journal(id)); i == 0 && !ended || err != nil {
			m.Sums = before // it is awake, or waits for the next wake to be settled
			break
		}
		m.Upto = id
	}
	return err
}

// read counts a journal, and says whether it has the event sleep, which no arguments of a
// call stand for.
func (m *Meter) read(path string) (ended bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for r := bufio.NewReader(f); err == nil; {
		var line []byte
		line, err = r.ReadBytes('\n')
		m.count(line)
		ended = ended || kindOf(line) == "sleep"
	}
	if err == io.EOF {
		err = nil
	}
	return ended, err
}

// kindOf is the event of a line, which stands before what others wrote.
func kindOf(line []byte) string {
	_, kind, _ := bytes.Cut(line, []byte(`"event":"`))
	kind, _, _ = bytes.Cut(kind, []byte(`"`))
	return string(kind)
}

// count adds what a line of a journal comes to. Of long ones only this much is read.
func (m *Meter) count(line []byte) {
	kind := kindOf(line)
	if !slices.Contains([]string{"reply", "result", "policy", "refused", "sleep"}, kind) {
		return
	}
	var e struct {
		Model, Tool, Do, Outcome, Task, Rewound string
		Usage                                   journal.Usage
		OK                                      bool
		Ms                                      float64
	}
	if json.Unmarshal(line, &e) != nil || e.Rewound != "" { // when nothing ran
		return
	}
	switch kind {
	case "reply":
		m.reply(e.Model, e.Usage)
	case "result":
		if e.Tool != "done" && e.Tool != "update_scratchpad" {
			m.Sums.Add(Calls, 1, Tool, e.Tool, Outcome, map[bool]string{true: "ok", false: "failed"}[e.OK])
		} else if !e.OK {
			m.Sums.Add(Refusals, 1, By, "rouse")
		}
	case "policy":
		if e.Do != "allow" {
			m.Sums.Add(Refusals, 1, By, e.Do)
		}
	case "refused":
		m.Sums.Add(Refusals, 1, By, "sandbox")
	case "sleep":
		m.Sums.Add(Cycles, 1, Outcome, e.Outcome, Task, e.Task)
		m.Sums.Add(Awake, e.Ms/1000)
	}
}

func (m *Meter) reply(model string, u journal.Usage) {
	if model == "" {
		model = m.Name
	}
	m.Sums.Add(Requests, 1, Model, model)
	for kind, n := range map[string]int{"input": u.Input, "cached": u.Cached, "written": u.Written, "output": u.Output, "reasoning": u.Reasoning} {
		m.Sums.Add(Tokens, float64(n), TokenType, kind, Model, model)
	}
	if cost, ok := m.Cost(model, u); ok {
		m.Sums.Add(Money, cost, "currency", m.Currency, Model, model)
	}
}
