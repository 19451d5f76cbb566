package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent/approval"
	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newApprovals() *cobra.Command {
	c := a.withJSON(&cobra.Command{
		Use:   "approvals",
		Short: "List the calls that wait for your yes, and answer them",
		Long: `List the calls that rules of the policy have asked you about, those without an answer first.
The next cycle carries out precisely what was approved, once. Answers can also be written
into approvals.yaml in the home. docs/approvals.md tells the rest.

Exit codes: 0, 1 if there is no such call, it has an answer already, approvals.yaml cannot be
read or written or no wall keeps tools from it, 2 usage or configuration.`,
		RunE: in(a.open, func(s *setup.Setup, _ []string) error {
			list, err := s.Asked()
			if err != nil {
				return err
			}
			return printList(a, list, "nothing was asked", func(e setup.Approval) string {
				return fmt.Sprintf("%-8s %-10s %s  %s  %s", e.ID, e.State, e.Asked.Local().Format("2006-01-02 15:04"), a.redacted(e.Call()), text.Line(a.redacted(e.Rule), 120))
			})
		}),
	})
	show := a.withJSON(&cobra.Command{
		Use: "show ID...", Short: "Show a call whole: its arguments, why it is asked, what was read before",
		Args: cobra.MinimumNArgs(1), RunE: in(a.open, a.showApprovals),
	})
	c.AddCommand(show, a.newAnswer(approval.Approve, "Let the next cycle carry out precisely these calls, once"),
		a.newAnswer(approval.Deny, "Refuse these calls; the agent is told, and why"))
	return c
}

func (a *app) newAnswer(decision, short string) *cobra.Command {
	var why string
	c := a.withJSON(&cobra.Command{
		Use: decision + " ID...", Short: short, Args: cobra.MinimumNArgs(1),
		RunE: in(a.open, func(s *setup.Setup, ids []string) error { return a.answer(s, ids, decision, why) }),
	})
	c.Flags().StringVar(&why, "why", "", "say why; the agent is told")
	return c
}

func (a *app) answer(s *setup.Setup, ids []string, decision, why string) error {
	list, err := s.Answer(ids, decision, why)
	if a.json {
		if failed := a.printJSON(append([]setup.Approval{}, list...)); failed != nil {
			return failed
		}
		return err
	}
	for _, e := range list {
		fmt.Fprintf(a.stdout, "%s %s %s\n", e.ID, e.State, a.redacted(e.Call()))
	}
	return err
}

func (a *app) showApprovals(s *setup.Setup, ids []string) error {
	list, err := s.Asked(ids...)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(list)
	}
	for _, e := range list {
		a.printApproval(e)
	}
	return nil
}

// printApproval prints a call with all that a person should know of it.
func (a *app) printApproval(e setup.Approval) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.stdout, "%-8s %s\n", name, text.Line(a.redacted(value), maxMessage))
		}
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return setup.Clock(t)
	}
	row("id", e.ID)
	row("state", strings.TrimSuffix(e.State+" "+e.Outcome, ": "))
	row("tool", e.Tool)
	for _, arg := range e.Arguments() {
		if arg.Name == "" {
			row("args", arg.Value)
			continue
		}
		indented := strings.ReplaceAll(text.Block(a.redacted(arg.Value)), "\n", "\n           ")
		fmt.Fprintf(a.stdout, "  %s: %s\n", text.Line(arg.Name, 64), indented)
	}
	row("rule", e.Rule)
	row("said", e.Said)
	row("origin", strings.Join(e.Origin, ", "))
	for _, read := range e.Read {
		row("read", read)
	}
	row("asked", when(e.Asked)+" by cycle "+e.Cycle)
	row("expires", when(e.Expires))
	row("answer", strings.TrimSuffix(strings.TrimSpace(e.Decision+" "+e.By+" "+when(e.At))+": "+e.Why, ": "))
	row("carried", e.Carried)
}
