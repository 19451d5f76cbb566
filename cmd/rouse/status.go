package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/agent/inbox"
	"rouse/agent/notify"
	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/origin"
	"rouse/setup"
)

// status is what `rouse status --json` prints.
type status struct {
	there       bool           // there is a file of the state
	Home        string         `json:"home"`
	State       string         `json:"state"`
	SizeBytes   int64          `json:"size_bytes"`
	LastUpdated string         `json:"last_updated"`
	Task        string         `json:"current_task"`
	Pending     []string       `json:"pending_actions"`
	Completed   int            `json:"completed_tasks"`
	Archived    int            `json:"archived_tasks"`
	LastNote    string         `json:"last_note"`
	Told        []string       `json:"told"` // tasks in the inbox
	Cycle       *agent.Summary `json:"cycle"`
	setup.Standing
}

func (a *app) newStatus() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "status",
		Short: "Show the memory, the last cycle, and what is not as it should be",
		Long: `Show what the agent is to do, how its last cycle and its last slot ended, when it wakes next,
how much of its limits is used, and what needs your attention. What became of slots that did
not just run is shown since a person last looked, on a terminal; at first for a week.

Exit codes: 0, or 2 if the memory cannot be read.`,
		RunE: in(a.openHome, a.status),
	})
}

func (a *app) status(h home.Home, _ []string) error {
	h = h.AtOnce()
	s, _, err := h.Load()
	if err != nil {
		return usage(err)
	}
	st := summarize(h, s)
	if st.Archived, err = agent.Moved(h, ""); err != nil {
		return err
	}
	told, err := inbox.List(h.Inbox())
	for _, item := range told {
		st.Told = append(st.Told, item.Task)
	}
	if err != nil {
		st.Problems = append(st.Problems, err.Error())
	}
	cycles, err := agent.Verdicts(h, 1)
	if len(cycles) > 0 {
		st.Cycle = &cycles[0]
	}
	if err := h.Wakes(); err != nil {
		st.Problems = append(st.Problems, err.Error())
	}
	problems := st.Problems
	st.Standing = setup.StandingOf(h, a.process(), st.Cycle)
	st.Problems = append(st.Problems, problems...)
	if err != nil {
		st.Problems = append(st.Problems, err.Error())
	}
	if st.Cycle != nil {
		st.Problems = append(st.Problems, st.Cycle.Attention(h)...)
	}
	if a.json {
		return a.printJSON([]status{st})
	}
	a.printStatus(st)
	if terminal(a.stdout).isTerminal {
		setup.Looked(h, a.now())
	}
	return nil
}

func summarize(h home.Home, s *scratchpad.State) status {
	st := status{
		Home: h.Dir, State: h.Rel(h.Active()), LastUpdated: s.LastUpdated(), Pending: []string{}, Told: []string{},
		Task: scratchpad.TaskText(s.CurrentTask()), Completed: len(s.Completed()),
	}
	if info, err := os.Stat(h.Active()); err == nil {
		st.there, st.SizeBytes = true, info.Size()
	}
	for _, p := range s.Pending() {
		st.Pending = append(st.Pending, scratchpad.TaskText(p))
	}
	notes := strings.Split(strings.TrimRight(s.Notes(), "\n"), "\n")
	st.LastNote = notes[len(notes)-1]
	return st
}

func (a *app) printStatus(st status) {
	out := terminal(a.stdout)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.stdout, "%s %s\n", out.paint(dim, fmt.Sprintf("%-9s", name)), value)
		}
	}
	row("home", st.Home)
	row("memory", memoryLine(st))
	row("task", cmp.Or(text.Line(st.Task, 200), "none"))
	row("pending", fmt.Sprint(len(st.Pending)))
	for _, p := range st.Pending[:min(3, len(st.Pending))] {
		row("", "- "+text.Line(p, 200))
	}
	for _, task := range st.Told {
		row("told", text.Line(task, 200))
	}
	row("completed", completedLine(st))
	row("last note", text.Line(st.LastNote, 300))
	if len(st.Origins) > 0 {
		row("origins", "text from outside in the memory: "+origin.Set(st.Origins).String())
	}
	if st.Cycle != nil {
		row("cycle", cycleLine(*st.Cycle, out, a.now()))
	}
	printStanding(st.Standing, out, a.now(), row)
}

func completedLine(st status) string {
	if st.Archived == 0 {
		return fmt.Sprint(st.Completed)
	}
	return fmt.Sprintf("%d, and %d in scratchpad/completed.jsonl", st.Completed, st.Archived)
}

func memoryLine(st status) string {
	switch {
	case !st.there:
		return st.State + " is not there yet: the next cycle begins with the initial state"
	case st.LastUpdated == "":
		return fmt.Sprintf("%s, %d bytes, never saved by a cycle", st.State, st.SizeBytes)
	}
	return fmt.Sprintf("%s, %d bytes, saved %s", st.State, st.SizeBytes, st.LastUpdated)
}

// cycleLine is one cycle in words.
func cycleLine(c agent.Summary, out screen, now time.Time) string {
	line := fmt.Sprintf("%s  %s", c.Cycle, out.paint(outcomeColor(c), fmt.Sprintf("%-11s", c.Outcome)))
	switch c.Outcome {
	case agent.Awake:
		return line + fmt.Sprintf("  since %s, for %s, pid %d", c.Began.Format("15:04:05"), now.Sub(c.Began).Round(time.Second), c.PID)
	case agent.Interrupted:
		return line + "  the next cycle settles it"
	}
	took := time.Duration(c.Ms) * time.Millisecond
	line += fmt.Sprintf("  exit %-3d  %2d iterations  %6d tokens  %8s", c.Exit, c.Iterations, c.Tokens, took)
	line += taskWord(c.Task, out)
	if c.Delivery == notify.Undelivered {
		line += "  " + out.paint(red, "delivery failed")
	} else if c.Delivery == notify.Delivered {
		line += "  delivered"
	}
	if n := len(c.Flaky); n > 0 {
		line += "  " + out.paint(yellow, text.Count(n, "flaky check"))
	}
	for _, n := range []struct {
		calls int
		how   string
	}{{c.Failed, "failed"}, {c.Refused, "refused"}} {
		if n.calls > 0 {
			line += "  " + out.paint(yellow, text.Count(n.calls, "call")+" "+n.how)
		}
	}
	if c.Unsupported > 0 {
		line += "  " + out.paint(yellow, text.Count(c.Unsupported, "quote")+" unsupported")
	}
	if c.Rewound != "" {
		line += "  put back to what was before cycle " + c.Rewound
	}
	if n := len(c.Sandbox); n > 0 {
		line += "  " + out.paint(yellow, text.Count(n, "thing")+" refused by the sandbox")
	}
	if c.Attempt > 1 {
		line += fmt.Sprintf("  attempt %d", c.Attempt)
	}
	if c.Error != "" {
		line += "  " + text.Line(c.Error, 200)
	}
	return line
}

func outcomeColor(c agent.Summary) string {
	switch {
	case c.Outcome == agent.Awake:
		return yellow
	case c.Exit != 0 || c.Outcome == agent.Interrupted:
		return red
	case c.Task == journal.TaskProven:
		return green
	}
	return "" // nobody tested it
}

// taskWord is the verdict on a task, of which only one is green.
func taskWord(task string, out screen) string {
	switch task {
	case journal.TaskProven:
		return "  " + out.paint(green, "task proven")
	case journal.TaskClaimed:
		return "  task claimed"
	case journal.TaskFailed:
		return "  " + out.paint(red, "task failed")
	}
	return ""
}

// withJSON gives a verb the flag --json.
func (a *app) withJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// printList prints a list: with --json as JSON, else in words, as line has each.
// What it is empty of is said where no script reads it for a line.
func printList[T any](a *app, list []T, none string, line func(T) string) error {
	if a.json {
		return a.printJSON(append([]T{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.stderr, none)
	}
	for _, e := range list {
		fmt.Fprintln(a.stdout, line(e))
	}
	return nil
}

// printJSON prints what scripts read; docs/json.md describes it.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
