package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"rouse/agent"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/vault"
	"rouse/setup"
)

// check is one line of the doctor's report.
type check struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Hint  string `json:"hint,omitempty"`
}

func (a *app) newDoctor() *cobra.Command {
	var asJSON, unattended, inside, mend, accept bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the home, the model, the tools, and what is enforced",
		Long: `Check everything that a cycle needs, and say what this system does not enforce. The model's
server is asked for its list of models, which costs nothing.

With --unattended it says what would fail tonight: it looks for what wakes the home, and does all
its checks once more in the environment that cron gives: no terminal, another folder, hardly any
variables.

With --mend the home and what is private in it are closed to other users first (0700 and 0600); it
says what was changed. Links are not followed.

With --accept it first accepts what another hand may have changed since the last cycle, and what
cycles refuse until then: model.base_url in rouse.yaml.

Exit codes: 0 all is well, 1 a check failed, 2 this is no home.`,
		Example: `  rouse doctor
  rouse doctor --unattended
  rouse doctor --mend`,
		Args: strict(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if accept {
				if err := a.accept(asJSON); err != nil {
					return err
				}
			}
			switch {
			case mend:
				return a.doctor(a.mend, asJSON)
			case unattended:
				return a.doctor(a.tonight, asJSON)
			case inside:
				return a.doctor(a.inside, asJSON)
			}
			return a.doctor(a.examine, asJSON)
		},
	}
	c.Flags().BoolVar(&unattended, "unattended", false, "check what happens while nobody looks")
	c.Flags().BoolVar(&mend, "mend", false, "close the home to other users of the machine")
	c.Flags().BoolVar(&inside, "inside", false, "check as the process that --unattended starts")
	_ = c.Flags().MarkHidden("inside")
	c.Flags().BoolVar(&accept, "accept", false, "accept what cycles refuse because another hand may have changed it")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// accept accepts what cycles refuse and no other verb accepts.
func (a *app) accept(quiet bool) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	accepted, err := s.Accept()
	for _, text := range accepted {
		if !quiet {
			fmt.Fprintln(a.stdout, "accepted: "+text)
		}
	}
	return err
}

func (a *app) doctor(examine func(home.Home) []check, asJSON bool) error {
	h, err := a.openHome()
	if err != nil {
		return err
	}
	checks := examine(h)
	if asJSON {
		err = a.printJSON(checks)
	} else {
		a.printChecks(checks)
	}
	for _, c := range checks {
		if !c.OK {
			return errors.Join(err, &coded{exitFailed, nil})
		}
	}
	return err
}

func (a *app) examine(h home.Home) []check {
	checks := []check{
		{Check: "home", OK: true, Found: h.Dir},
		checkRules(h), checkState(h), checkWritable(h), checkSpace(h), checkPrivate(h), a.checkClock(h), checkJournals(h), checkProgram(h),
	}
	checks = append(checks, a.checkVariables(h)...)
	if a.dotenv.Err != nil {
		return checks
	}
	s, err := setup.Open(h, a.process())
	if err != nil {
		return append(checks, check{Check: "configuration", Found: err.Error(), Hint: "mend rouse.yaml"})
	}
	checks = append(checks, check{Check: "configuration", OK: true, Found: h.Rel(h.Config())}, a.checkModel(s))
	checks = append(checks, checkTools(s)...)
	checks = append(checks, checkServers(s)...)
	for _, g := range append(proc.Enforced(), a.guard()) {
		checks = append(checks, checkGuard(g))
	}
	return checks
}

// checkVariables looks at .env, if there is one. Only what cannot be read fails.
func (a *app) checkVariables(h home.Home) []check {
	d := a.dotenv
	c := check{Check: "variables", Found: fmt.Sprintf(".env, %d", len(d.All))}
	if d.Err != nil {
		c.Found = d.Err.Error()
		return []check{c}
	}
	if len(d.All) == 0 {
		return nil
	}
	if c.OK = true; slices.ContainsFunc(d.All, func(v vault.Variable) bool { return v.Name == "ROUSE_HOME" }) {
		c.Hint = "ROUSE_HOME in it counts for nothing: the home is found first"
	}
	if err := vault.CheckEnv(h.Env()); err != nil {
		c.Hint = err.Error()
	}
	return []check{c}
}

func (a *app) guard() proc.Guard {
	g := proc.Guard{Name: "tools cannot read rouse's memory and environment", Enforced: a.hidden}
	if !g.Enforced {
		g.Detail = "the keys are there: on Linux, run rouse as another user than root"
	}
	return g
}

// checkGuard says what this system does not enforce; that fails nothing.
func checkGuard(g proc.Guard) check {
	if g.Enforced {
		return check{Check: "enforced", OK: true, Found: g.Name}
	}
	return check{Check: "not enforced", OK: true, Found: g.Name, Hint: g.Detail}
}

func (a *app) printChecks(checks []check) {
	out := terminal(a.stdout)
	for _, c := range checks {
		mark := out.paint(green, "ok  ")
		if !c.OK {
			mark = out.paint(red, "FAIL")
		}
		fmt.Fprintf(a.stdout, "%s  %-13s  %s\n", mark, c.Check, c.Found)
		if c.Hint != "" {
			fmt.Fprintf(a.stdout, "      %-13s  %s\n", "", c.Hint)
		}
	}
}

func checkRules(h home.Home) check {
	rules, err := h.ReadRules()
	switch {
	case err != nil:
		return check{Check: "rules", Found: err.Error()}
	case strings.TrimSpace(rules) == "":
		return check{Check: "rules", Found: "rules.md is empty", Hint: "say in it what the agent is and how it works"}
	}
	return check{Check: "rules", OK: true, Found: fmt.Sprintf("rules.md, %d bytes", len(rules))}
}

func checkState(h home.Home) check {
	s, hash, err := h.Load()
	_, missing := os.Lstat(h.Active())
	switch {
	case err != nil && missing != nil: // it would begin with initial.yaml
		return check{Check: "memory", Found: err.Error(), Hint: "mend that file, or remove it: a memory then begins empty"}
	case err != nil:
		return check{Check: "memory", Found: err.Error(), Hint: "mend the line, or put the memory aside with rouse reset"}
	case hash == "":
		return check{Check: "memory", OK: true, Found: "none yet; the next cycle begins with the initial state"}
	case s.Large():
		return check{Check: "memory", OK: true, Found: "readable", Hint: "it is above 512 KiB: each request to the model carries it"}
	}
	return check{Check: "memory", OK: true, Found: "readable"}
}

func checkWritable(h home.Home) check {
	for _, dir := range []string{h.Memory(), h.Logs()} {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			dir = h.Dir
		}
		f, err := os.CreateTemp(dir, ".doctor.*.tmp")
		if err != nil {
			return check{Check: "folders", Found: err.Error(), Hint: "the agent must be able to write there"}
		}
		f.Close()
		if err := os.Remove(f.Name()); err != nil {
			return check{Check: "folders", Found: err.Error()}
		}
	}
	return check{Check: "folders", OK: true, Found: "writable"}
}

// lowSpace is the free space below which a cycle may not be able to save.
const lowSpace = 64 << 20

func checkSpace(h home.Home) check {
	var st unix.Statfs_t
	if err := unix.Statfs(h.Dir, &st); err != nil {
		return check{Check: "disk", Found: err.Error()}
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	return check{Check: "disk", OK: free >= lowSpace, Found: fmt.Sprintf("%d MiB free", free>>20)}
}

func (a *app) checkClock(h home.Home) check {
	list, err := agent.Summaries(h, 1)
	if err != nil {
		return check{Check: "cycles", Found: err.Error()}
	}
	if len(list) == 0 {
		return check{Check: "cycles", OK: true, Found: "none yet"}
	}
	c := list[0]
	if c.Began.After(a.now().Add(time.Minute)) {
		return check{Check: "cycles", Found: "the newest cycle, " + c.Cycle + ", lies in the future", Hint: "check the clock and the time zone"}
	}
	if c.Outcome == agent.Interrupted {
		return check{Check: "cycles", OK: true, Found: c.Cycle + " was interrupted", Hint: "the next wake settles it"}
	}
	return check{Check: "cycles", OK: true, Found: "the newest is " + c.Cycle + ", " + c.Outcome}
}

func checkTools(s *setup.Setup) []check {
	set, err := s.Tools()
	if err != nil {
		return []check{{Check: "tools", Found: err.Error(), Hint: "mend tools: in rouse.yaml"}}
	}
	var names []string
	for _, t := range set.All() {
		names = append(names, t.Name)
	}
	return append([]check{{Check: "tools", OK: true, Found: strings.Join(names, ", ")}}, checkNotes(set.All())...)
}

// modelPatience is how long the doctor waits for the model's server.
const modelPatience = 10 * time.Second

func (a *app) checkModel(s *setup.Setup) check {
	m := s.Config.Model
	if err := s.CheckURL(); err != nil { // the key is not sent there
		return check{Check: "model", Found: err.Error()}
	}
	if m.Provider == "offline" {
		return check{Check: "model", OK: true, Found: "offline: it carries out tasks that are written as calls",
			Hint: "for a real model set " + m.APIKeyEnv + ", or OPENAI_BASE_URL for a local server"}
	}
	if err := s.CheckModel(); err != nil {
		return check{Check: "model", Found: err.Error()}
	}
	base := m.BaseURL
	if base == "" {
		base = "https://api.openai.com/v1"
	}
	found := fmt.Sprintf("%s at %s", m.Name, base)
	status, err := ask(strings.TrimRight(base, "/")+"/models", a.getenv(m.APIKeyEnv))
	switch {
	case err != nil:
		return check{Check: "model", Found: found + ": " + err.Error(), Hint: "check the network and model.base_url"}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return check{Check: "model", Found: fmt.Sprintf("%s: HTTP %d", found, status), Hint: "check the key in " + m.APIKeyEnv}
	case status == http.StatusNotFound:
		return check{Check: "model", Found: found + ": HTTP 404", Hint: "does model.base_url end in /v1?"}
	case status >= 500:
		return check{Check: "model", Found: fmt.Sprintf("%s: HTTP %d", found, status)}
	}
	return check{Check: "model", OK: true, Found: found + ", reachable"}
}

// ask sends one GET request and gives the status.
func ask(url, key string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), modelPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // a redirect is an answer
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
