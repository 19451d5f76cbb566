// Command rouse is an agent that a person can leave alone on a machine.
//
// main.go maps errors to exit codes, wire.go opens homes, and each verb has a file of
// its own.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rouse/agent/trust"
	"rouse/home"
	"rouse/internal/mirror"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/setup"
)

// Exit codes, the same for every verb.
const (
	exitFailed = 1  // the cycle, a check or a look-up failed
	exitUsage  = 2  // usage, configuration or unreadable state
	exitLimit  = 3  // stopped at a limit before done
	exitAwake  = 75 // another cycle is awake
)

// app is what every verb has: the process as it was started.
type app struct {
	home    string   // the flag --home
	hidden  bool     // what it knows, from its children
	json    bool     // the flag --json of verbs that have it
	environ []string // with the variables of the home's .env before it, once that is found
	dotenv  *setup.Dotenv
	setup   *setup.Setup // of the home, once that is open
	mirror  *mirror.Mirror
	stdout  io.Writer
	stderr  io.Writer
	now     func() time.Time
}

// coded is an error with an exit code of its own. A nil err is said already.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string {
	if c.err == nil {
		return ""
	}
	return c.err.Error()
}

func (c *coded) Unwrap() error { return c.err }

// usage marks an error that the user mends by calling or configuring otherwise.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &coded{exitUsage, err}
}

func main() { process(time.Now) }

// process is what main does, by a clock.
func process(now func() time.Time) {
	hidden := proc.HideMemory() // before anything is started that could look
	log.SetOutput(io.Discard)   // net/http speaks there, and cron would mail it
	proc.Deepen()
	a := &app{hidden: hidden, environ: os.Environ(), stdout: &output{File: os.Stdout}, stderr: os.Stderr, now: now}
	os.Exit(a.main(os.Args[1:]))
}

// output is a stream that remembers whether it could be written.
type output struct {
	*os.File
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// written is why a stream misses what was written to it, or nil.
func written(w io.Writer) error {
	if o, ok := w.(*output); ok {
		return o.err
	}
	return nil
}

// main runs one command line and gives its exit code.
func (a *app) main(args []string) int {
	root := a.root(args...)
	root.SetArgs(args)
	began := time.Now() // as files have it
	c, err := root.ExecuteC()
	err = cmp.Or(err, home.GiveBack(a.folder(), began))
	if err == nil && c.Name() != "run" { // a cycle's exit code is about the cycle
		err = written(a.stdout)
	}
	if err == nil {
		return 0
	}
	if line := a.said(err); line != "" {
		fmt.Fprintf(a.stderr, "rouse: %s\n", line)
	}
	return exitCode(err)
}

// said is the one line that says what went wrong. It may quote a file of the
// operator's, and cron would mail it.
func (a *app) said(err error) string {
	return text.Line(a.redacted(strings.TrimSpace(err.Error())), maxMessage)
}

// maxMessage bounds the one line that says what went wrong, in characters.
const maxMessage = 4000

func exitCode(err error) int {
	var c *coded
	switch {
	case err == nil:
		return 0
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, home.ErrAwake):
		return exitAwake
	case errors.As(err, new(*home.StateError)), errors.As(err, new(*trust.Changed)):
		return exitUsage
	}
	return exitFailed
}

// root is the command of all verbs; for a cycle, which starts each minute, it has that
// verb alone.
func (a *app) root(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "rouse",
		Short: "An agent that can be left alone on a machine",
		Long: `Rouse runs an agent in cycles: it wakes, asks a model what to do, does it, saves
its memory as YAML that you can read and edit, and exits. cron starts the next one.

A home is a folder with rules.md. It is --home, else $ROUSE_HOME, else the current
folder. Begin with: rouse init my-agent && cd my-agent && rouse run

Exit codes: 0 done or nothing to do, 1 failed, 2 usage, configuration or unreadable
state, 3 stopped at a limit, 75 another cycle is awake, 130 and 143 ended by a signal.`,
		SilenceErrors: true, SilenceUsage: true,
	}
	// Cobra's own --version has a template, and what that may call makes the program larger by a tenth.
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *version {
			return a.printVersion()
		}
		return c.Help()
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		said := err.Error()
		if before, kind, ok := strings.Cut(said, ": strconv.Parse"); ok { // whose words tell a user nothing
			said = before + ": want a whole number"
			if strings.HasPrefix(kind, "Bool") {
				said = before + ": want true or false"
			}
		}
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
			var names []string
			c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			said += text.Meant("--"+unknown.GetSpecifiedName(), names)
		}
		return usage(fmt.Errorf("%s; see %s --help", said, c.CommandPath()))
	})
	root.PersistentFlags().StringVar(&a.home, "home", "", "the agent's home (default $ROUSE_HOME, else the current folder)")
	if len(args) > 0 && args[0] == "run" {
		root.AddCommand(a.newRun())
		root.CompletionOptions.DisableDefaultCmd = true
		complete(root)
		return root
	}
	root.AddCommand(a.newInit(), a.newRun(), a.newStatus(), a.newCycles(), a.newLog(), a.newDiff(), a.newSearch(),
		a.newReset(), a.newVerify(), a.newForget(), a.newRewind(), a.newReplay(), a.newBackup(), a.newRestore(), a.newAllow(), a.newConfig(), a.newPolicy(), a.newApprovals(), a.newObservation(), a.newMCP(), a.newSkills(), a.newNotebook(), a.newVault(), a.newCost(), a.newMetrics(), a.newPause(), a.newResume(), a.newReap(),
		a.newSchedule(), a.newSlots(), a.newReport(), a.newServe(), a.newTell(), a.newInstall(), a.newUninstall(), a.newDoctor(), a.newVersion())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	a.suggest(root)
	complete(root)
	help, _, _ := root.Find([]string{"help"})
	help.Args = knownVerb // cobra's takes what it does not know for a wish for all of it
	return root
}

// exitCodes begins the part of a help that says what they mean.
const exitCodes = "Exit codes:"

// complete gives a command, and those below it, what all have in common: its help
// says its exit codes, or those of the group that it is of; without Args it takes none, wrong ones are a usage error, and a group prints its help. Cobra's
// own would take any word for a wish for help.
func complete(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	if !strings.Contains(c.Long, exitCodes) && c.HasParent() {
		_, codes, _ := strings.Cut(c.Parent().Long, exitCodes)
		c.Long = cmp.Or(c.Long, c.Short+".") + "\n\n" + exitCodes + codes
	}
	if !c.Runnable() {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err != nil && strings.Contains(err.Error(), "arg(s)") { // whose words are for programmers
			err = fmt.Errorf("got %s; it is used as: %s", text.Count(len(args), "argument"), c.UseLine())
		}
		if err != nil {
			return usage(fmt.Errorf("%w%s; see %s --help", err, meantVerb(c, args), c.CommandPath()))
		}
		return nil
	}
	for _, below := range c.Commands() {
		complete(below)
	}
}

// knownVerb refuses arguments that name no command.
func knownVerb(c *cobra.Command, args []string) error {
	if below, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
		return usage(fmt.Errorf("unknown command %q for %q%s; see %[2]s --help", strings.Join(args, " "), c.Root().Name(), meantVerb(cmp.Or(below, c.Root()), rest)))
	}
	return nil
}

// meantVerb ends a message about a word that is no verb of a group.
func meantVerb(c *cobra.Command, args []string) string {
	var names []string
	for _, below := range c.Commands() {
		names = append(names, below.Name())
	}
	return text.Meant(strings.Join(args[:min(1, len(args))], ""), names)
}
