package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rouse/agent/search"
	"rouse/internal/text"
	"rouse/setup"
)

func (a *app) newSearch() *cobra.Command {
	var since, kind string
	var all bool
	c := &cobra.Command{
		Use:   "search TEXT...",
		Short: "Find what cycles wrote, read and did",
		Long: `Print the newest 20 texts that have all the words of TEXT: time, cycle, kind, the part about
the first of them. Upper and lower case and accents do not matter, a word of three letters
or more also finds longer ones that begin with it, and "words in quotes" (the shell takes
one pair of them for itself) are found as they stand, in this order.

Kinds: note, what was written into the memory or with a call; task, also with what came of
it; call and its result; cell, the code of a notebook; observation, an output too large to
be shown, of which the view that the model got is searched (rouse observation grep searches
all of it). Searched are the journals of all cycles that the home still has, and the tasks
and notes that left the memory, also of older ones.

The first search reads all of it, later ones what is new: logs/search.db is an index, which may be
removed at any time.

Exit codes: 0, 1 if nothing is found or it cannot be searched, 2 usage.`,
		Example: `  rouse search payment refused
  rouse search '"card expired"' --since 7d --kind result`,
		Args: cobra.MinimumNArgs(1),
		RunE: in(a.open, func(s *setup.Setup, args []string) error {
			q, err := search.NewQuery(strings.Join(args, " "), since, kind, a.now())
			if err != nil {
				return usage(fmt.Errorf("--%w", err))
			}
			q.Limit = newest(all)
			return a.search(s, q)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "print all of them")
	c.Flags().StringVar(&since, "since", "", "of cycles that began since then: 36h, 7d, 2026-04-01 or a cycle")
	c.Flags().StringVar(&kind, "kind", "", "of this kind alone: "+strings.Join(kinds(), ", "))
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp))
	return a.withJSON(c)
}

func kinds() (names []string) {
	for _, k := range search.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func (a *app) search(s *setup.Setup, q search.Query) error {
	list, err := s.Search().Find(context.Background(), q)
	if errors.As(err, new(*search.QueryError)) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	out := terminal(a.stdout)
	err = printList(a, list.Hits, "nothing is found", func(h search.Hit) string {
		return fmt.Sprintf("%s  %s  %-11s  %s", h.Time.Format("2006-01-02 15:04"), out.paint(bold, h.Cycle), h.Kind, text.Line(h.Excerpt, 400))
	})
	if list.More && out.isTerminal {
		list.Note = strings.TrimPrefix(list.Note+"; there are more: --all", "; ")
	}
	if list.Note != "" {
		fmt.Fprintf(a.stderr, "rouse: %s\n", a.redacted(list.Note))
	}
	return found(len(list.Hits) > 0, err)
}
