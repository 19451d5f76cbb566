package setup

import (
	"context"
	"errors"
	"os"
	"strings"

	"rouse/agent"
	"rouse/journal"
	"rouse/tools"
)

// Foresee says what of the next cycle will not be as it should, with these tools in
// place of those that MCP servers had in the last one. It starts nothing but a Python.
func (s *Setup) Foresee(servers ...tools.Tool) (problems []string) {
	if err := s.CheckNotebooks(); err != nil {
		problems = append(problems, err.Error())
	}
	ag, err := s.Agent()
	if err != nil {
		return append(problems, s.Redactor().String(err.Error()))
	}
	box := s.notebookBox(context.Background(), agent.Host{})
	further := s.foreseen(ag)
	if len(servers) > 0 {
		further = append(box.Tools, servers...)
	}
	more, err := ag.Foresee(further...)
	if err != nil { // such as a memory that cannot be read, which is said where it is read
		return problems
	}
	return append(problems, more...)
}

// CheckNotebooks says why no notebook could start in a home that has some or names
// their Python.
func (s *Setup) CheckNotebooks() error {
	c := s.Config.Notebook
	if _, err := os.Stat(s.Home.Notebooks()); c.Backend == "remote" || c.Python == "" && err != nil {
		return nil
	}
	return s.local(nil).Check(context.Background())
}

// errNothing is what a home says that has nothing to do and that somebody wakes.
var errNothing = errors.New("there is nothing to do: " + agent.Nothing)

// addComing says what the last cycle lacked, and what the next one will.
func (s *Setup) addComing(st *Standing, newest *agent.Summary) {
	for _, text := range agent.Shown(s.Home, newest.Cycle) {
		if !strings.Contains(text, "rouse mcp accept") { // what is still to be accepted is looked up
			st.problem(errors.New("cycle " + newest.Cycle + ": " + text))
		}
	}
	for _, text := range s.Foresee() {
		st.problem(errors.New(text))
	}
	state, _, err := s.Home.Load()
	if err != nil || !agent.Purposeless(state) {
		return
	}
	for _, e := range s.Config.Schedule {
		if e.Task != "" {
			return
		}
	}
	if newest.Outcome == journal.Idle || len(s.Config.Schedule) > 0 {
		st.problem(errNothing)
	}
}
