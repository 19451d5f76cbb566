package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"rouse/agent/approval"
	"rouse/agent/schedule"
	"rouse/internal/text"
	"rouse/setup"
)

// Tones of what [Report.Text] writes, for who paints it.
const (
	Good  = "good"
	Bad   = "bad"
	Warn  = "warn"
	Faint = "faint"
	Head  = "head"
)

// shownLines is how many lines of one kind the text has, and shownLine how long one is.
const (
	shownLines = 8
	shownLine  = 300
)

// page is a report that is being written.
type page struct {
	io.Writer
	paint func(tone, text string) string
}

// Text writes a report as lines: a row or more for each question that a person has in the
// morning, docs/report.md. paint is given each part that has a tone; nil paints nothing.
func (r Report) Text(w io.Writer, paint func(tone, text string) string) {
	if paint == nil {
		paint = func(_, text string) string { return text }
	}
	p := page{w, paint}
	fmt.Fprintln(w, paint(Head, text.Line(r.Home, 500)))
	p.row("time", "%s to %s", clock(r.Since), clock(r.Until))
	if len(r.Slots) > 0 {
		p.row("slots", "%s  %s", p.strip(r.Slots), SlotWords(r.Slots))
	}
	p.row("cycles", "%s", p.tally(r.Tally))
	some(p, r.Problems, 50, "", func(s string) { p.line("attention", Bad, s) })
	some(p, r.Approvals, shownLines, "rouse approvals", p.approval)
	if r.Blank() {
		return
	}
	some(p, r.Failures, shownLines, "rouse cycles", func(f Failure) { p.line("failed", "", f.Cycle+times(f.Count)+"  "+f.How()+": "+f.What()) })
	some(p, r.Missed(false), shownLines, "rouse report --json", func(c Call) { p.line("call", "", c.String()) })
	some(p, r.Missed(true), shownLines, "rouse report --json", func(c Call) { p.line("wanted", Warn, c.String()) })
	some(p, r.Wanted, shownLines, "rouse status", func(w Wanted) {
		p.line("wanted", Warn, fmt.Sprintf("%s, %s%s", w.What, text.Count(w.Count, "time"), w.Mend))
	})
	p.trust(r)
	some(p, r.Due, shownLines, "rouse slots", func(d Due) { p.line("due", "", clock(d.Time)+"  "+d.Cron+"  "+d.Task) })
	if r.Undo != "" {
		p.row("undo", "rouse rewind %s", r.Undo)
	}
	p.changes(r)
	p.cost(r)
	some(p, r.newest("done"), shownLines, "rouse log CYCLE", func(s Said) { p.line("done", "", s.Cycle+"  "+s.Text) })
	some(p, r.newest("note"), shownLines, "rouse log CYCLE", func(s Said) { p.line("note", "", s.Cycle+"  "+s.Text) })
}

func (p page) row(name, format string, args ...any) {
	fmt.Fprintf(p, "%s %s\n", p.paint(Faint, fmt.Sprintf("%-9s", name)), fmt.Sprintf(format, args...))
}

// line is a row of a text that anybody may have worded.
func (p page) line(name, tone, said string) {
	p.row(name, "%s", p.paint(tone, text.Line(said, shownLine)))
}

// some shows at most so many of a list, and says what shows the others.
func some[T any](p page, list []T, most int, others string, show func(T)) {
	for _, e := range list[:min(most, len(list))] {
		show(e)
	}
	if n := len(list) - most; n > 0 {
		p.row("", "and %d more: %s", n, others)
	}
}

func (p page) approval(a Approval) {
	if a.State != approval.Open {
		p.line("answered", "", a.ID+" "+a.Call()+": "+a.Became()+" "+a.Why)
		return
	}
	p.line("waits", Warn, fmt.Sprintf("%s until %s: %s", a.Call(), clock(a.Expires), a.Said))
	p.row("", "%s, or deny", a.Answer)
}

func (p page) trust(r Report) {
	p.line("trust", "", r.Trust())
	some(p, r.Doubts, shownLines, "rouse report --json", func(d Doubt) { p.line("doubt", Warn, strings.TrimSpace(d.Cycle+"  "+d.Text)) })
	if len(r.Origins) > 0 {
		p.line("outside", "", text.Join(r.Origins, ", ", Origin.String))
	}
}

func (p page) cost(r Report) {
	p.line("cost", "", r.Cost.String())
	for _, u := range r.Limits {
		p.row("limit", "%s: %s of %s used", u.Name, u.Used, u.Limit)
	}
	if len(r.Hosts) > 0 {
		p.line("reached", "", text.Join(r.Hosts, ", ", Count.String))
	}
}

// Became says what became of the call, and who answered.
func (a Approval) Became() string {
	by := text.Line(a.By, 80)
	switch {
	case by == "":
		return a.State
	case a.Carried != "":
		return a.State + "; approved by " + by
	}
	return a.State + " by " + by
}

// changes shows memory and files over all of the time.
func (p page) changes(r Report) {
	more := r.diff()
	for _, k := range Keys(r.Memory, 0) {
		p.row("memory", "%s %s", p.paint(Head, k.Key), k.How)
		for _, line := range last(k.Gone, shownLines, more) {
			p.line("", Bad, "- "+line)
		}
		for _, line := range last(k.Come, shownLines, more) {
			p.line("", Good, "+ "+line)
		}
	}
	some(p, r.Files, 5*shownLines, more+" --files", func(f File) { p.line("file", "", text.Quoted(f.Path)+" "+f.Kind) })
}

// diff is the command that shows all that changed.
func (r Report) diff() string {
	if n := len(r.Cycles); n > 0 {
		return "rouse diff " + r.Cycles[0].Cycle + " " + r.Cycles[n-1].Cycle
	}
	return "rouse diff"
}

// last are the last lines of what changed, which are the newest, and where the others are.
func last(lines []string, most int, others string) []string {
	if n := len(lines) - most; n > 0 {
		return append([]string{fmt.Sprintf("… %d before: %s", n, others)}, lines[n:]...)
	}
	return lines
}

// newest are those of a kind that were said last, the newest first.
func (r Report) newest(kind string) (list []Said) {
	for i := len(r.Said) - 1; i >= 0; i-- {
		if r.Said[i].Kind == kind {
			list = append(list, r.Said[i])
		}
	}
	return list
}

func clock(t time.Time) string { return t.Local().Format("Mon 2006-01-02 15:04") }

// mostSlots is how many slots a strip has.
const mostSlots = 60

// strip is a sign for each of the newest slots.
func (p page) strip(slots []setup.Slot) string {
	var b strings.Builder
	for _, s := range slots[max(0, len(slots)-mostSlots):] {
		sign, tone := sign(s)
		b.WriteString(p.paint(tone, sign))
	}
	return b.String()
}

// sign is what became of a slot: it ran well, or not, nobody was there, or it was passed over.
func sign(s setup.Slot) (sign, tone string) {
	switch {
	case s.Exit != nil && *s.Exit != 0:
		return "x", Bad
	case s.Status == schedule.Missed || s.Status == schedule.Unknown:
		return "!", Bad
	case s.Status == schedule.Skipped:
		return "-", ""
	case s.Status.Began():
		return "#", Good
	}
	return ".", ""
}

// SlotWords counts the slots by what became of them.
func SlotWords(slots []setup.Slot) string {
	count, order := map[string]int{}, []string{}
	for _, s := range slots {
		what := string(s.Status)
		if s.Reason != "" {
			what += " (" + text.Line(s.Reason, 40) + ")"
		}
		if count[what] == 0 {
			order = append(order, what)
		}
		count[what] += max(s.Count, 1)
	}
	return text.Join(order, ", ", func(what string) string { return fmt.Sprintf("%d %s", count[what], what) })
}

func (p page) tally(t Tally) string {
	line := fmt.Sprint(t.Cycles)
	for _, n := range []struct {
		count int
		tone  string
		word  string
	}{
		{t.Proven, Good, "proven"}, {t.Claimed, "", "claimed"}, {t.Failed, Bad, "failed"}, {t.Idle, "", "idle or waiting"}, {t.Awake, Warn, "awake"}, {t.None, "", "without a task"},
		{t.Told, Bad, "not told of"}, {t.Calls, Warn, "calls failed"}, {t.Refused, Warn, "calls refused"}, {t.Denied, Warn, "calls denied"}, {t.Asked, Warn, "calls asked"},
	} {
		if n.count > 0 {
			word := n.word
			if n.count == 1 {
				word = strings.Replace(word, "calls", "call", 1)
			}
			line += "  " + p.paint(n.tone, fmt.Sprintf("%d %s", n.count, word))
		}
	}
	return line
}

// Trust says how much of what was done is more than the model's word.
func (r Report) Trust() string {
	switch t := r.Tally; {
	case t.Proven+t.Claimed+t.Failed == 0:
		return "nothing was said to be done"
	case t.Claimed == 0:
		return fmt.Sprintf("%d proven by checks, nothing on the model's word alone", t.Proven)
	default:
		return fmt.Sprintf("%d proven by checks, %d on the model's word alone: docs/checks.md", t.Proven, t.Claimed)
	}
}

// String is it in words.
func (c Call) String() string {
	return fmt.Sprintf("%s step %d %s %s%s: %s", c.Cycle, c.Step, c.Call(), c.How, times(c.Count), c.Why)
}

// Call is it without what became of it.
func (c Call) Call() string { return strings.TrimSpace(text.Line(c.Tool, 64) + " " + c.On) }

// times says how often something was, unless it was once.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}

// String is it in words.
func (c Count) String() string { return fmt.Sprintf("%s %d", text.Line(c.Name, 80), c.Count) }

// String is it in words.
func (o Origin) String() string {
	if o.Memory {
		return o.Count.String() + " (in the memory)"
	}
	return o.Count.String()
}

// String is it in words.
func (c Cost) String() string {
	if c.Requests+c.Calls == 0 && c.Usual == nil {
		return "nothing"
	}
	line := fmt.Sprintf("%d tokens in %s, %s", c.Input+c.Output, text.Count(c.Requests, "request"), text.Count(c.Calls, "call"))
	if c.Money != nil {
		line += fmt.Sprintf(", %.4f %s", float64(*c.Money)/1e9, c.Currency)
	} else {
		line += ", of which not all has a price"
	}
	if u := c.Usual; u != nil {
		line += fmt.Sprintf("; usual for so long: %d tokens", u.Tokens)
		if u.Money != nil {
			line += fmt.Sprintf(", %.4f %s", float64(*u.Money)/1e9, c.Currency)
		}
	}
	return line
}
