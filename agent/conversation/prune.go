package conversation

import (
	"fmt"
	"slices"
	"strings"

	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/text"
	"rouse/tools"
)

// Where pruning ends, in parts of the limit: stubs down to the low-water mark;
// where stubs alone leave more than foldAbove, old iterations are folded until
// foldTo is left. So what stays unchanged stays long.
const (
	lowWater  = 0.5
	foldAbove = 0.7
	foldTo    = 0.35

	// Of the limit, what the notes in the folded message may take, what its calls
	// may beside these and in any case, and what it says of where older ones are.
	foldNotes, foldMost, foldCalls, foldWhere = 0.25, 0.2, 0.1, 0.1
)

// fit makes the conversation small enough for the next request, in one batch if
// it passed the high-water mark, and says what it took out.
func (c *Native) fit() (p Pruned) {
	if limit := float64(c.limit()); float64(c.size()) > limit {
		c.stubs(&p, int(limit*lowWater), c.keep())
		if float64(c.size()) > limit*foldAbove {
			c.fold(&p, int(limit*foldTo))
		}
		c.stubs(&p, int(limit*foldAbove), 1)
		c.stubs(&p, int(limit), 0)
	}
	p.Tokens = c.size()
	return p
}

// Shrink makes the next request smaller than the last one, which the server
// found too long. First messages that no model has answered yet are made anew:
// of a large memory they then show less.
func (c *Native) Shrink() {
	c.MaxTokens = c.tokens(c.last) * 3 / 4
	if len(c.rounds) == 0 {
		c.head = nil
	}
}

// size estimates the next request.
func (c *Native) size() int {
	n := c.headCost + c.toolsCost
	for _, m := range c.folded.messages() {
		n += estMessage(m)
	}
	for _, r := range c.rounds {
		n += r.size()
	}
	c.last = n
	return c.tokens(n)
}

func (r *round) size() int {
	if r.cost == 0 {
		for _, m := range r.messages() {
			r.cost += estMessage(m)
		}
	}
	return r.cost
}

// stubs replaces results by stubs, the oldest first, until the conversation has
// the wanted size or only the last keep results are left.
func (c *Native) stubs(p *Pruned, want, keep int) {
	size, left := c.size(), -keep
	for _, r := range c.rounds {
		left += len(r.results)
	}
	for i, r := range c.rounds {
		for k := range r.results {
			if left--; left < 0 || size <= want {
				return
			}
			if r.results[k].stub || Est(r.results[k].text) <= stubTokens {
				continue
			}
			before := Est(r.results[k].text)
			r.results[k], r.cost = c.stubbed(i, k), 0
			size -= c.tokens(before - Est(r.results[k].text))
			p.Steps = append(p.Steps, r.results[k].o.Step)
		}
	}
}

// stubbed is a result as a stub; the last one of an iteration has the facts that
// the model wrote down after it.
func (c *Native) stubbed(i, k int) result {
	r := c.rounds[i]
	facts := ""
	if i+1 < len(c.rounds) && k == len(r.results)-1 {
		facts = c.rounds[i+1].notes
	}
	res := newResult(r.results[k].call, c.stub(r.results[k].o, facts))
	res.stub = true
	return res
}

// fold makes one message of the oldest iterations until the conversation has the
// wanted size; the last ones stay.
func (c *Native) fold(p *Pruned, want int) {
	size, n := c.size(), 0
	for n < len(c.rounds)-c.keep() && size > want {
		size -= c.tokens(c.rounds[n].size() - Est(c.rounds[n].noted()+c.rounds[n].brief()))
		n++
	}
	for i, r := range c.rounds[:n] {
		for k := range r.results {
			if !r.results[k].stub && Est(r.results[k].text) > stubTokens {
				r.results[k] = c.stubbed(i, k)
				p.Steps = append(p.Steps, r.results[k].o.Step)
			}
		}
		c.folded.add(r.noted(), r.brief())
	}
	c.rounds = append([]*round(nil), c.rounds[n:]...)
	p.Folded = n
	c.folded.archive(&c.Options, float64(c.limit()))
}

// noted is what the model noted in an iteration, as a line.
func (r *round) noted() string {
	if r.notes == "" {
		return ""
	}
	return fmt.Sprintf("you noted: %s\n", text.Brief(r.notes, 2000))
}

// brief is an iteration in a few lines: what was asked for and what became of it.
func (r *round) brief() string {
	var b strings.Builder
	for _, res := range r.results {
		call := model.Call{Name: res.o.Tool}
		if i := slices.IndexFunc(r.reply.Calls, func(c model.Call) bool { return c.ID == res.call }); i >= 0 {
			call = r.reply.Calls[i]
		}
		limit := 160
		if call.Name == "update_scratchpad" {
			limit = 2000
		}
		args, _ := tools.TakeNote(call.Args)
		b.WriteString(became(call.Name, text.Brief(string(args), limit), res.o))
	}
	return b.String()
}

// became is a call and what became of it, as one line.
func became(tool, args string, o dispatcher.Observation) string {
	said := "ok"
	switch {
	case !o.OK:
		said = "failed: " + text.Brief(o.Error, 200)
	case o.ScratchpadID != "":
		said = fmt.Sprintf("%d bytes, scratchpad_id %s", o.SizeBytes, o.ScratchpadID)
	case o.Content != nil:
		said = text.Brief(fmt.Sprint(o.Content), 300)
	}
	return fmt.Sprintf("step %d: %s(%s) → %s\n", o.Step, tool, args, said)
}

// fold is what became of the iterations that are no longer there.
type fold struct {
	archives []string // where older lines are
	lines    []folded
}

// folded are the lines of an iteration: what the model noted of it, and its calls.
type folded struct{ notes, calls string }

func (f *fold) add(notes, calls string) { f.lines = append(f.lines, folded{notes, calls}) }

func (f *fold) messages() []model.Message {
	if text := f.text(); text != "" {
		return []model.Message{{Role: model.User, Content: text}}
	}
	return nil
}

func (f *fold) text() string {
	if len(f.lines)+len(f.archives) == 0 {
		return ""
	}
	return "[Earlier in this cycle, shortened to make room. What a step gave back can be read with scratchpad_read.]\n" +
		strings.Join(f.archives, "") + joined(f.lines)
}

func joined(lines []folded) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.notes + l.calls)
	}
	return b.String()
}

// cost is that of the notes, which are distilled already, and of the calls.
func (f *fold) cost() (notes, calls int) {
	for _, l := range f.lines {
		notes, calls = notes+Est(l.notes), calls+Est(l.calls)
	}
	return notes, calls
}

// archive parks the older half of the calls while these cost too much for a request
// of limit tokens, and then of the notes.
func (f *fold) archive(o *Options, limit float64) {
	for notes, calls := f.cost(); float64(calls) > max(limit*foldMost-float64(notes), limit*foldCalls); notes, calls = f.cost() {
		f.park(o, "iterations", func(l *folded) *string { return &l.calls })
	}
	for notes, _ := f.cost(); float64(notes) > limit*foldNotes; notes, _ = f.cost() {
		f.park(o, "notes", func(l *folded) *string { return &l.notes })
	}
}

// park parks the older half of the lines that have a part, and takes it out of them.
func (f *fold) park(o *Options, what string, part func(*folded) *string) {
	var has []int
	for i := range f.lines {
		if *part(&f.lines[i]) != "" {
			has = append(has, i)
		}
	}
	half := (len(has) + 1) / 2
	end := has[half-1] + 1
	var before []string // where they are is said in this one
	if Est(strings.Join(f.archives, "")) > int(float64(o.limit())*foldWhere) {
		before = f.archives[:len(f.archives)/2]
	}
	text := strings.Join(before, "") + joined(f.lines[:end])
	where := "are no longer shown, and could not be kept"
	if o.ParkText != nil {
		if id, err := o.ParkText("conversation", text); err == nil {
			where = fmt.Sprintf("are in the scratchpad: scratchpad_id %s, %d bytes; search them with scratchpad_read, mode grep", id, len(text))
		}
	}
	f.archives = append(slices.Clone(f.archives[len(before):]), fmt.Sprintf("[%d earlier %s %s]\n", half, what, where))
	for _, i := range has[:half] {
		*part(&f.lines[i]) = ""
	}
	f.lines = slices.DeleteFunc(f.lines, func(l folded) bool { return l == folded{} })
}
