package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"rouse/agent"
	"rouse/internal/erase"
	"rouse/internal/text"
)

func (a *app) newForget() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "forget TEXT|-",
		Short: "Take a leaked value out of the home",
		Long: `Show where a value stands in the home: the memory and its snapshots, journals, logs and
ledgers, observations, the history, notebooks, the workspace and the index of the search. With
--yes, take it out there; journals are sealed anew and say so. Give - and the value on
standard input, else it stands in the history of your shell. It is found as it is and as
JSON, YAML, URLs, HTML, hexadecimal and base64 write it, and is never shown.

Files that you wrote (rouse.yaml, rules.md, .env and so on) are named and left as they are.
Where the command is killed or fails, run it again with the same value.

Exit codes: 0, also if it is nowhere, 1 if something cannot be done, 2 if the text is shorter than
8 characters, 75 while a cycle is awake.`,
		Example: "  rouse forget - < value.txt\n  rouse forget - --yes < value.txt",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.forget(c, args[0], yes) },
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do it")
	return a.withJSON(c)
}

func (a *app) forget(c *cobra.Command, value string, yes bool) error {
	if value == "-" {
		given, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 1<<20))
		if err != nil {
			return err
		}
		value = string(given)
	}
	s, err := a.open()
	if err != nil {
		return err
	}
	f, err := s.Forget(c.Context(), value, yes)
	if errors.Is(err, erase.ErrShort) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON([]any{f})
	}
	a.printForgotten(f)
	return nil
}

func (a *app) printForgotten(f agent.Forgotten) {
	for _, p := range f.Places {
		in := ""
		if p.Files > 0 {
			in = " in " + text.Count(p.Files, "file")
		}
		fmt.Fprintf(a.stdout, "%s: %s%s\n", p.Place, text.Count(p.Hits, "time"), in)
	}
	for _, name := range f.Kept {
		fmt.Fprintf(a.stdout, "%s has it and stays as it is: it is yours to change\n", text.Line(name, 300))
	}
	for _, name := range f.Unread {
		fmt.Fprintf(a.stdout, "%s is not looked into\n", text.Line(name, 300))
	}
	switch {
	case f.Done:
		fmt.Fprintln(a.stdout, "taken out; journals are sealed anew and say so")
	case f.Nothing():
		fmt.Fprintln(a.stdout, "it is nowhere in the home where Rouse would take it out")
	default:
		fmt.Fprintln(a.stdout, "nothing is changed yet; --yes does it")
	}
	fmt.Fprintln(a.stdout, strings.Join(agent.Elsewhere, "\n"))
}
