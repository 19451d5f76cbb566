package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"rouse/agent"
	"rouse/internal/text"
	"rouse/journal"
)

// screen is a stream that a person may be reading.
type screen struct {
	w          io.Writer
	isTerminal bool
	color      bool
	plain      bool // it may show nothing but ASCII
	width      int
}

// terminal finds out what a stream is.
func terminal(w io.Writer) screen {
	s := screen{w: w, width: 80}
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.isTerminal = true
	s.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	// The first of these that is set is the locale (POSIX, 8.2).
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	s.plain = !strings.Contains(strings.ToUpper(strings.ReplaceAll(locale, "-", "")), "UTF8")
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
		s.width = width
	}
	return s
}

// Colours, as SGR parameters of ECMA-48.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
	bold   = "1"
)

func (s *screen) paint(code, text string) string {
	if !s.color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// own writes the marks that Rouse adds to what others said as the screen can show
// them.
func (s *screen) own(text string) string {
	if !s.plain {
		return text
	}
	return strings.NewReplacer("→", "->", "…", "...").Replace(text)
}

// progress shows a cycle while it runs. Every field may be nil.
type progress struct {
	each func(journal.Event)
	err  *screen // what happens
	out  *screen // what came of it

	call    string
	changed []string
	now     bool // the last line says what is being done, and may be wiped out
}

// event shows one event.
func (p *progress) event(e journal.Event) {
	if p.each != nil {
		p.each(e)
	}
	p.collect(e)
	if p.err == nil {
		return
	}
	switch d := e.Data.(type) {
	case *journal.Wake:
		p.line("cycle " + e.Cycle)
		if d.Settled != "" {
			p.line(p.err.paint(yellow, "settled the interrupted cycle "+d.Settled))
		}
		if d.Warning != "" {
			p.line(p.err.paint(yellow, d.Warning))
		}
	case *journal.Request:
		p.doing(fmt.Sprintf("asking the model (iteration %d) …", d.Iteration))
	case *journal.Retry:
		p.line(p.err.paint(yellow, fmt.Sprintf("again in %s: %s", time.Duration(d.Wait)*time.Millisecond, text.Line(d.Error, 200))))
	case *journal.Intent:
		p.call = text.Line(fmt.Sprintf("%d  %s %s", d.Step, d.Tool, d.Args), max(20, p.err.width-24))
		p.doing(p.call + " …")
	case *journal.Checked:
		p.checked(d)
	case *journal.Result:
		p.result(d)
	}
}

func (p *progress) checked(c *journal.Checked) {
	mark := p.err.paint(green, "holds")
	if !c.OK {
		mark = p.err.paint(red, text.Line(c.Seen, 200))
	}
	p.line(fmt.Sprintf("check  %s  %s", text.Line(c.Check, max(20, p.err.width-24)), mark))
}

func (p *progress) result(r *journal.Result) {
	mark, took := p.err.paint(green, "ok"), time.Duration(r.Ms)*time.Millisecond
	if !r.OK {
		mark = p.err.paint(red, "failed: "+text.Line(r.Error, 200))
	}
	if p.call == "" {
		p.call = fmt.Sprintf("%d  %s", r.Step, r.Tool)
	}
	p.line(fmt.Sprintf("%s  %s  %s", p.call, p.err.paint(dim, took.String()), mark))
	if said := strings.TrimSpace(r.Shown()); said != "" && r.OK {
		p.line(p.err.paint(dim, "   → "+text.Line(said, max(20, p.err.width-6))))
	}
	p.call = ""
}

// doing shows what is under way until the next line takes its place.
func (p *progress) doing(text string) {
	p.wipe()
	fmt.Fprint(p.err.w, p.err.paint(dim, p.err.own(text)))
	p.now = true
}

func (p *progress) line(text string) {
	p.wipe()
	fmt.Fprintln(p.err.w, p.err.own(text))
}

func (p *progress) wipe() {
	if p.now {
		fmt.Fprint(p.err.w, "\r\x1b[K")
	}
	p.now = false
}

// collect remembers which keys of the memory changed.
func (p *progress) collect(e journal.Event) {
	for _, c := range journal.Changes(e) {
		if !slices.Contains(p.changed, c.Key) {
			p.changed = append(p.changed, c.Key)
		}
	}
}

// close shows what the cycle came to.
func (p *progress) close(r agent.Report) {
	if p.err != nil {
		p.wipe()
	}
	if p.out == nil {
		return
	}
	if s := (*agent.Stopped)(nil); errors.As(r.Err, &s) {
		fmt.Fprintf(p.out.w, "the home is paused: %s; go on with: rouse resume\n", text.Line(s.Reason, 300))
	}
	if r.Cycle == "" {
		return
	}
	if errors.Is(r.Err, agent.ErrIdle) {
		fmt.Fprintf(p.out.w, "nothing to do: %s\n", agent.Nothing)
	}
	color := outcomeColor(agent.Summary{Outcome: r.Outcome, Exit: r.Exit, Task: r.Task})
	changed := "nothing changed"
	if len(p.changed) > 0 {
		changed = "changed " + strings.Join(p.changed, ", ")
	}
	fmt.Fprintf(p.out.w, "%s%s in %s: %d iterations, %d tokens, %s\n",
		p.out.paint(color, r.Outcome), taskWord(r.Task, *p.out), r.Took.Round(time.Millisecond), r.Iterations, r.Tokens, changed)
}
