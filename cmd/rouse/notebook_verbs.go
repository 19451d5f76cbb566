package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rouse/setup"
	"rouse/tools/notebook"
)

func (a *app) newNotebook() *cobra.Command {
	c := &cobra.Command{
		Use:   "notebook",
		Short: "Read and drive the agent's Python notebooks",
		Long: `A notebook is a persistent Python environment with a name, in which the agent runs
cells. Each has a folder in notebooks/ with its packages, its variables and all its
cells, also as a Jupyter notebook.

Exit codes: 0, 1 if a cell or an installation fails or there is no such notebook, 2 usage,
130 and 143 ended by a signal.`,
	}
	c.AddCommand(a.newNotebookList(), a.newNotebookExec(), a.newNotebookView(), a.newNotebookDump(),
		a.newNotebookInstall(), a.newNotebookCancel(), a.newNotebookReset(), a.newNotebookRemove(), a.newNotebookServe(), a.newNotebookRemote())
	return c
}

// inNotebooks runs a verb with the notebooks of the home open, and closes them.
func (a *app) inNotebooks(run func(context.Context, *notebook.Manager, []string) error) runner {
	return in(a.open, func(s *setup.Setup, args []string) error {
		ctx, stop := untilSignal(syscall.SIGPIPE)
		defer stop()
		m, close, err := s.Notebooks(ctx)
		if err != nil {
			return usage(err)
		}
		defer close()
		return interrupted(ctx, run(ctx, m, args))
	})
}

func (a *app) newNotebookList() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "list",
		Short: "List the notebooks of the home",
		RunE:  a.inNotebooks(a.listNotebooks),
	})
}

func (a *app) listNotebooks(_ context.Context, m *notebook.Manager, _ []string) error {
	list, err := m.List()
	if err != nil {
		return err
	}
	return printList(a, list, "no notebooks yet; make one with: rouse notebook exec NAME '1 + 1'", func(e notebook.Summary) string {
		last := "none has run"
		if e.Cells > 0 {
			last = e.Last.Local().Format(time.DateTime)
		}
		return fmt.Sprintf("%-20s  %d cells  %s", e.Name, e.Cells, last)
	})
}

func (a *app) newNotebookExec() *cobra.Command {
	var file, description string
	var estimate time.Duration
	c := &cobra.Command{
		Use:   "exec NAME [CODE]",
		Short: "Run a cell; without CODE it is read from a file or from standard input",
		Long: `Run a cell in a notebook, which is made if there is none. What it prints is printed
as it comes; progress and what the environment says go to standard error.

Exit codes: 0, 1 if the cell failed or was ended, 2 usage.`,
		Example: `  rouse notebook exec sales 'len(rows)'
  rouse notebook exec sales --file report.py`,
		Args: named(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error {
			code, err := a.code(args[1:], file)
			if err != nil {
				return usage(err)
			}
			return a.inNotebooks(func(ctx context.Context, m *notebook.Manager, _ []string) error {
				return a.exec(ctx, m, args[0], notebook.Request{Code: code, Description: description, Estimate: estimate.Seconds()})
			})(c, args)
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "the `file` with the code; - is standard input")
	c.Flags().StringVar(&description, "description", "", "what the cell is for, in one line")
	c.Flags().DurationVar(&estimate, "estimate", 0, "how long it should take; twice that is the limit")
	return c
}

// named wants arguments that check accepts and of which the first one can be the
// name of a notebook.
func named(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return err
		}
		return notebook.CheckName(args[0])
	}
}

// code is the code of a cell: an argument, a file, or standard input.
func (a *app) code(args []string, file string) (string, error) {
	var text []byte
	var err error
	switch {
	case len(args) > 0 && file != "":
		err = errors.New("give the code, or --file, not both")
	case len(args) > 0:
		text = []byte(args[0])
	case file != "" && file != "-":
		text, err = os.ReadFile(file)
	default:
		text, err = io.ReadAll(os.Stdin)
	}
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = errors.New("no code: give it as an argument, by --file or on standard input")
	}
	return string(text), err
}

func (a *app) exec(ctx context.Context, m *notebook.Manager, name string, q notebook.Request) error {
	out, beside := shown(a.stdout), shown(a.stderr)
	q.Output, q.Progress = out, func(line string) { fmt.Fprintln(beside, line) }
	c, err := m.Exec(ctx, name, q)
	if err != nil {
		return err
	}
	for _, note := range c.Notes {
		fmt.Fprintln(beside, note)
	}
	for _, r := range c.Refused {
		fmt.Fprintln(beside, "the sandbox refused:", r)
	}
	fmt.Fprint(beside, c.Stderr)
	if c.Value != "" {
		fmt.Fprintln(out, c.Value)
	}
	for _, p := range c.Pictures {
		fmt.Fprintf(a.stderr, "[%s, %d bytes: see rouse notebook dump --ipynb %s]\n", p.Type, len(p.Data), name)
	}
	if c.Ended != notebook.OK {
		fmt.Fprintln(beside, strings.TrimRight(c.Error, "\n"))
		return &coded{exitFailed, nil}
	}
	return nil
}

func (a *app) newNotebookView() *cobra.Command {
	return &cobra.Command{
		Use:   "view NAME",
		Short: "Show the cells with what came of them, cut for reading",
		Args:  named(cobra.ExactArgs(1)),
		RunE: a.inNotebooks(func(_ context.Context, m *notebook.Manager, args []string) error {
			return m.View(args[0], shown(a.stdout))
		}),
	}
}

func (a *app) newNotebookDump() *cobra.Command {
	var ipynb, all bool
	c := &cobra.Command{
		Use:   "dump NAME",
		Short: "Write the cells as Markdown, or as a Jupyter notebook",
		Args:  named(cobra.ExactArgs(1)),
		RunE: a.inNotebooks(func(_ context.Context, m *notebook.Manager, args []string) error {
			s, err := m.Store(args[0])
			switch {
			case err != nil:
				return err
			case ipynb:
				return s.Ipynb(a.stdout)
			case all:
				return s.DumpAll(shown(a.stdout))
			}
			return m.Dump(args[0], shown(a.stdout))
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "all cells whole, none as a line and no output cut")
	c.Flags().BoolVar(&ipynb, "ipynb", false, "as a Jupyter notebook, with all cells whole")
	return c
}

func (a *app) newNotebookInstall() *cobra.Command {
	return &cobra.Command{
		Use:     "install NAME PACKAGE...",
		Short:   "Install packages into a notebook, as pip does",
		Example: `  rouse notebook install sales pandas 'numpy>=2'`,
		Args:    named(cobra.MinimumNArgs(2)),
		RunE: a.inNotebooks(func(ctx context.Context, m *notebook.Manager, args []string) error {
			return m.Install(ctx, args[0], args[1:], shown(a.stderr))
		}),
	}
}

func (a *app) newNotebookCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel NAME...",
		Short: "Interrupt the cell that runs, be it the agent's",
		Long: `Interrupt the cell or the installation that runs in a notebook, in whatever process of
this home. The cell ends as canceled; variables stay, unless it does not obey.

Exit codes: 0, 1 if nothing runs or there is no such notebook, 2 usage.`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.eachNotebook((*notebook.Manager).CancelCell),
	}
}

func (a *app) newNotebookReset() *cobra.Command {
	return &cobra.Command{
		Use:   "reset NAME...",
		Short: "Forget the variables; packages and cells stay",
		Args:  cobra.MinimumNArgs(1),
		RunE:  a.eachNotebook((*notebook.Manager).Reset),
	}
}

func (a *app) newNotebookRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME...",
		Short: "Delete notebooks, with their packages and their cells",
		Args:  cobra.MinimumNArgs(1),
		RunE:  a.eachNotebook((*notebook.Manager).Remove),
	}
}

func (a *app) eachNotebook(do func(*notebook.Manager, context.Context, string) error) runner {
	return a.inNotebooks(func(ctx context.Context, m *notebook.Manager, names []string) error {
		for _, name := range names {
			if _, err := m.Store(name); err != nil {
				return err
			}
			if err := do(m, ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
}
