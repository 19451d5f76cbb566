package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/scratchpad/observation"
	"rouse/setup"
	"rouse/tools/notebook"
)

// suggest tells the shell what the arguments and flags of verbs can be.
func (a *app) suggest(root *cobra.Command) {
	verb := func(words ...string) *cobra.Command {
		c, _, _ := root.Find(words)
		return c
	}
	for _, name := range []string{"log", "diff", "rewind", "replay"} {
		verb(name).ValidArgsFunction = a.oneOf(a.cycleIDs)
	}
	for _, name := range []string{"read", "grep", "keep", "rm"} {
		verb("observation", name).ValidArgsFunction = a.oneOf(a.observationIDs)
	}
	for _, name := range []string{"exec", "view", "dump", "install", "cancel", "reset", "remove"} {
		verb("notebook", name).ValidArgsFunction = a.oneOf(a.notebookNames)
	}
	verb("allow").ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return allowKinds, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault // a path
	}
	_ = verb("observation", "list").RegisterFlagCompletionFunc("cycle", a.oneOf(a.cycleIDs))
	_ = verb("cost").RegisterFlagCompletionFunc("by", cobra.FixedCompletions(costRows, cobra.ShellCompDirectiveNoFileComp))
	_ = verb("install").RegisterFlagCompletionFunc("via", cobra.FixedCompletions([]string{"cron", "systemd", "launchd"}, cobra.ShellCompDirectiveNoFileComp))
	_ = verb("init").RegisterFlagCompletionFunc("from", func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		for _, line := range setup.Examples() {
			names = append(names, strings.Replace(line, ": ", "\t", 1))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	bash := verb("completion", "bash")
	script := bash.RunE
	bash.RunE = func(c *cobra.Command, args []string) error {
		fmt.Fprint(a.stdout, withoutPackage)
		return script(c, args)
	}
}

// oneOf suggests a first argument, from what the home has. Where there is no home,
// it suggests nothing.
func (a *app) oneOf(list func(home.Home) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		h, err := a.openHome()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list(h), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func (a *app) cycleIDs(h home.Home) []string {
	ids, _ := h.Cycles(20) // those that cannot be read cannot be shown either
	return ids
}

func (a *app) observationIDs(home.Home) (ids []string) {
	_ = a.inStore(func(s *observation.Store, _ []string) error {
		list, err := s.List(observation.Filter{})
		for _, e := range slices.Backward(list) {
			ids = append(ids, e.ID)
		}
		return err
	})(nil, nil)
	return ids
}

func (a *app) notebookNames(h home.Home) []string {
	m := notebook.Manager{Dir: h.Notebooks()}
	names, _ := m.Names()
	return names
}

// withoutPackage lets the script of bash work where its package bash-completion is
// not installed, by the one function that cobra's script takes from it.
const withoutPackage = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    }
fi
`
