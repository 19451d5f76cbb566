// Package doctor checks everything that a home needs, and says what this system does
// not enforce: at once, and as a process sees it that cron would start.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/internal/vault"
	"rouse/setup"
	"rouse/tools"
)

// Doctor is who examines homes.
type Doctor struct {
	setup.Process
	// Hidden says that children cannot read the memory of this process.
	Hidden bool
}

// Examine checks a home.
func (d Doctor) Examine(h home.Home) []setup.Check {
	checks := []setup.Check{
		{Check: "home", OK: true, Found: h.Dir},
		checkRules(h), checkState(h), checkWritable(h), setup.CheckSpace(h), checkPrivate(h), d.checkClock(h), checkJournals(h), checkProgram(h),
	}
	checks = append(checks, d.checkVariables(h)...)
	if d.Dotenv.Err != nil {
		return checks
	}
	s, err := setup.Open(h, d.Process)
	if err != nil {
		return append(checks, setup.Check{Check: "configuration", Found: err.Error(), Hint: "mend rouse.yaml"})
	}
	checks = append(checks, setup.Check{Check: "configuration", OK: true, Found: h.Rel(h.Config())})
	checks = append(checks, d.checkModels(s)...)
	checks = append(append(checks, checkSinks(s)...), checkHooks(s)...)
	if at, _ := s.NextReport(); !at.IsZero() {
		c := setup.Check{Check: "report", OK: true, Found: "the next one is sent at " + setup.Clock(at)}
		if err := s.Unreported(); err != nil {
			c.OK, c.Found = false, err.Error()
		}
		checks = append(checks, c)
	}
	checks = append(checks, checkTools(s)...)
	servers, offered := checkServers(s)
	checks = append(checks, checkKept(s)...)
	checks = append(append(checks, Walls(s)...), checkPolicy(s)...)
	checks = append(checks, servers...)
	for _, problem := range s.Foresee(offered...) {
		if slices.ContainsFunc(checks, func(c setup.Check) bool { return c.Found == problem }) {
			continue
		}
		checks = append(checks, setup.Check{Check: "next cycle", Found: text.Line(problem, 500)})
	}
	for _, g := range append(proc.Enforced(), d.guard()) {
		checks = append(checks, checkGuard(g))
	}
	return checks
}

// checkVariables looks at .env, if there is one. Only what cannot be read fails.
func (d Doctor) checkVariables(h home.Home) []setup.Check {
	env := d.Dotenv
	c := setup.Check{Check: "variables", Found: fmt.Sprintf(".env, %d", len(env.All))}
	if env.Err != nil {
		c.Found = env.Err.Error()
		return []setup.Check{c}
	}
	if len(env.All) == 0 {
		return nil
	}
	if c.OK = true; slices.ContainsFunc(env.All, func(v vault.Variable) bool { return v.Name == "ROUSE_HOME" }) {
		c.Hint = "ROUSE_HOME in it counts for nothing: the home is found first"
	}
	for _, v := range env.Added {
		if setup.IsProxy(v.Name) {
			c.Hint = v.Name + " in it is not for the model: set a proxy in the environment, such as that of the crontab"
		}
	}
	if err := vault.CheckEnv(h.Env()); err != nil {
		c.Hint = err.Error()
	}
	return []setup.Check{c}
}

// checkKept counts what the home keeps, if it does.
func checkKept(s *setup.Setup) []setup.Check {
	kept, err := s.Kept()
	switch {
	case err != nil:
		return []setup.Check{{Check: "kept", Found: err.Error()}}
	case kept == setup.Kept{}:
		return nil
	}
	return []setup.Check{{Check: "kept", OK: true, Found: kept.String()}}
}

func (d Doctor) guard() proc.Guard {
	g := proc.Guard{Name: "tools cannot read rouse's memory and environment", Enforced: d.Hidden}
	if !g.Enforced {
		g.Detail = "the keys are there: on Linux, run rouse as another user than root"
	}
	return g
}

// checkGuard says what this system does not enforce; that fails nothing.
func checkGuard(g proc.Guard) setup.Check {
	if g.Enforced {
		return setup.Check{Check: "enforced", OK: true, Found: g.Name}
	}
	return setup.Check{Check: "not enforced", OK: true, Found: g.Name, Hint: g.Detail}
}

func checkRules(h home.Home) setup.Check {
	rules, err := h.ReadRules()
	if err != nil {
		return setup.Check{Check: "rules", Found: agent.Unruled(h, err).Error()}
	}
	return setup.Check{Check: "rules", OK: true, Found: fmt.Sprintf("rules.md, %d bytes", len(rules))}
}

func checkState(h home.Home) setup.Check {
	s, hash, err := h.Load()
	_, missing := os.Lstat(h.Active())
	switch {
	case err != nil && missing != nil: // it would begin with initial.yaml
		return setup.Check{Check: "memory", Found: err.Error(), Hint: "mend that file, or remove it: a memory then begins empty"}
	case err != nil:
		return setup.Check{Check: "memory", Found: err.Error(), Hint: "mend the line, or put the memory aside with rouse reset"}
	case hash == "":
		return setup.Check{Check: "memory", OK: true, Found: "none yet; the next cycle begins with the initial state"}
	case s.Large():
		return setup.Check{Check: "memory", OK: true, Found: "readable", Hint: "it is above 512 KiB: each request to the model carries it"}
	}
	return setup.Check{Check: "memory", OK: true, Found: "readable"}
}

func checkWritable(h home.Home) setup.Check {
	for _, dir := range []string{h.Memory(), h.Logs()} {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			dir = h.Dir
		}
		f, err := os.CreateTemp(dir, ".doctor.*.tmp")
		if err != nil {
			return setup.Check{Check: "folders", Found: err.Error(), Hint: "the agent must be able to write there"}
		}
		f.Close()
		if err := os.Remove(f.Name()); err != nil {
			return setup.Check{Check: "folders", Found: err.Error()}
		}
	}
	return setup.Check{Check: "folders", OK: true, Found: "writable"}
}

func (d Doctor) checkClock(h home.Home) setup.Check {
	list, err := agent.Summaries(h, 1)
	if err != nil {
		return setup.Check{Check: "cycles", Found: err.Error()}
	}
	if len(list) == 0 {
		return setup.Check{Check: "cycles", OK: true, Found: "none yet"}
	}
	c := list[0]
	if c.Began.After(d.Now().Add(time.Minute)) {
		return setup.Check{Check: "cycles", Found: "the newest cycle, " + c.Cycle + ", lies in the future", Hint: "check the clock and the time zone"}
	}
	if c.Outcome == agent.Interrupted {
		return setup.Check{Check: "cycles", OK: true, Found: c.Cycle + " was interrupted", Hint: "the next wake settles it"}
	}
	return setup.Check{Check: "cycles", OK: true, Found: "the newest is " + c.Cycle + ", " + c.Outcome}
}

// checkHooks looks whether each hook has the secret without which it takes nothing.
func checkHooks(s *setup.Setup) (checks []setup.Check) {
	for _, h := range s.Config.Hooks {
		c := setup.Check{Check: "hook " + h.Name, OK: true, Found: "POST /hooks/" + h.Name + " of rouse serve"}
		if s.Getenv(h.SecretEnv) == "" {
			c.OK, c.Found, c.Hint = false, "$"+h.SecretEnv+" is not set, so it takes nothing", "put the secret that the sender has into .env"
		}
		checks = append(checks, c)
	}
	return checks
}

// checkSinks tries the sinks that are servers, and sends them nothing.
func checkSinks(s *setup.Setup) (checks []setup.Check) {
	n := s.Notifier()
	for i, sink := range n.Sinks {
		if sink.Mail == nil && sink.Webhook == nil {
			continue
		}
		c := setup.Check{Check: "notify", OK: true, Found: fmt.Sprintf("notify[%d] can be reached", i)}
		if err := n.Try(context.Background(), sink); err != nil {
			c.OK, c.Found = false, text.Line(n.Redact.String(fmt.Sprintf("notify[%d]: %v", i, err)), 500)
		}
		checks = append(checks, c)
	}
	return checks
}

func checkTools(s *setup.Setup) []setup.Check {
	set, err := s.Tools()
	if err != nil {
		return []setup.Check{{Check: "tools", Found: err.Error(), Hint: "mend tools: in rouse.yaml"}}
	}
	names := text.Join(set.All(), ", ", func(t tools.Tool) string { return t.Name })
	checks := append([]setup.Check{{Check: "tools", OK: true, Found: names}}, checkNotes(set.All())...)
	if err := s.CheckEndpoint(); err != nil {
		checks = append(checks, setup.Check{Check: "notebook", Found: err.Error()})
	}
	return checks
}

// modelPatience is how long the doctor waits for the model's server.
const modelPatience = 10 * time.Second

func (d Doctor) checkModels(s *setup.Setup) []setup.Check {
	if err := s.CheckURL(); err != nil { // no key is sent there
		return []setup.Check{{Check: "model", Found: err.Error()}}
	}
	checks := []setup.Check{d.checkModel(s, s.Config.Model, "model")}
	for i, m := range s.Config.Model.Fallbacks() {
		c := d.checkModel(s, m, fmt.Sprintf("model.fallback[%d]", i))
		c.Check = "fallback"
		checks = append(checks, c)
	}
	return checks
}

// checkModel asks the server of a model for its list of models; key is where
// rouse.yaml has the model.
func (d Doctor) checkModel(s *setup.Setup, m config.Model, key string) setup.Check {
	if m.Provider == "offline" {
		return setup.Check{Check: "model", OK: true, Found: "offline: it carries out tasks that are written as calls",
			Hint: "for a real model set " + m.APIKeyEnv + ", or OPENAI_BASE_URL for a local server"}
	}
	if err := s.CheckModel(m); err != nil {
		return setup.Check{Check: "model", Found: err.Error()}
	}
	root, by := model.Server(m.API, m.BaseURL)
	found := fmt.Sprintf("%s at %s", m.Name, root)
	status, err := d.ask(m)
	switch {
	case err != nil:
		return setup.Check{Check: "model", Found: found + ": " + err.Error(), Hint: "check the network and " + key + ".base_url"}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return setup.Check{Check: "model", Found: fmt.Sprintf("%s: HTTP %d", found, status), Hint: "check the key in " + m.APIKeyEnv}
	case status == http.StatusNotFound && by != "" && by != model.Chat:
		return setup.Check{Check: "model", OK: true, Found: found + ", reachable; it does not list its models"}
	case status == http.StatusNotFound:
		return setup.Check{Check: "model", Found: found + ": HTTP 404", Hint: "does " + key + ".base_url end in /v1? Where cycles work, set " + key + ".api"}
	case status >= 500:
		return setup.Check{Check: "model", Found: fmt.Sprintf("%s: HTTP %d", found, status)}
	}
	return setup.Check{Check: "model", OK: true, Found: found + ", reachable"}
}

// ask asks for the list of models and gives the status.
func (d Doctor) ask(m config.Model) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), modelPatience)
	defer cancel()
	resp, err := get(ctx, m, d.Getenv(m.APIKeyEnv))
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// get asks the server of a model for its list of models.
func get(ctx context.Context, m config.Model, key string) (*http.Response, error) {
	root, by := model.Server(m.API, m.BaseURL)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"/models", nil)
	if err != nil {
		return nil, err
	}
	model.Authorize(req, by, key)
	return http.DefaultTransport.RoundTrip(req) // a redirect is an answer
}
