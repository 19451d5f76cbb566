package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/internal/text"
)

func (a *app) newVerify() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "verify [CYCLE]",
		Short: "Check that journals are whole and that what models quoted is there",
		Long: fmt.Sprintf(`Check a cycle, or the newest %d: that its journal is as Rouse wrote it, and that what the model
gave as evidence stands in what its tools gave back. A quote is looked up in the bytes that are
kept; white space aside it has to be the same, and to begin and end between words and numbers.
What is not kept any more is said too.

Exit codes: 0, 1 if something does not hold or there is no such cycle, 2 usage.`, agent.Checked),
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.verify(c.Context(), args) },
	})
}

var errNotVerified = errors.New("not all of it holds")

func (a *app) verify(ctx context.Context, args []string) error {
	h, err := a.openHome()
	if err != nil {
		return err
	}
	ids, err := h.Cycles(agent.Checked)
	if len(args) > 0 {
		ids = []string{""}
		ids[0], err = pickCycle(h, args)
	}
	if err != nil {
		return err
	}
	list, err := agent.VerifyAll(ctx, h, ids)
	if err == nil {
		err = printList(a, list, errNoCycle.Error(), verifiedText)
	}
	if err == nil && slices.ContainsFunc(list, func(v agent.Verified) bool { return !v.Holds() }) {
		return errNotVerified
	}
	return err
}

// verifiedText says what of a cycle holds, a line for it and one for each quote that
// is not there.
func verifiedText(v agent.Verified) string {
	count := map[string]int{}
	more := ""
	for _, c := range v.Evidence {
		if count[c.State]++; c.State != agent.Supported {
			more += fmt.Sprintf("\n  %s: step %d quotes step %d, %q: %s", c.State, c.In, c.Step, text.Cut(c.Quote, 200), text.Line(c.Why, 300))
		}
	}
	line := v.Cycle + "  the journal is whole"
	switch {
	case v.Doubt != "":
		line = v.Cycle + "  " + v.Doubt
	case !v.Sealed:
		line = v.Cycle + "  the journal has no seals"
	}
	if n := len(v.Evidence); n > 0 {
		line += fmt.Sprintf("; of %s %d supported, %d unsupported, %d gone", text.Count(n, "quote"), count[agent.Supported], count[agent.Unsupported], count[agent.Gone])
	}
	return line + more
}
