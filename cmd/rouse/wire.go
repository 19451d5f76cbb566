package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/vault"
	"rouse/scratchpad/observation"
	"rouse/tools"
	"rouse/tools/command"
	"rouse/tools/files"
	"rouse/tools/mcp"
	"rouse/tools/shell"
	"rouse/tools/web"
)

// getenv looks a variable up in the environment the process was started with.
func (a *app) getenv(name string) string {
	for i := len(a.environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// openHome finds the home: flag, then environment, then the current folder.
func (a *app) openHome() (home.Home, error) {
	h, err := home.Open(cmp.Or(a.home, a.getenv("ROUSE_HOME"), "."))
	return h, usage(err)
}

// open finds the home and reads its configuration.
func (a *app) open() (home.Home, config.Config, error) {
	h, err := a.openHome()
	if err != nil {
		return h, config.Config{}, err
	}
	c, err := config.Load(h.Config(), a.getenv)
	if err == nil {
		a.secrets = secretNames(c)
		if err = checkWorkspace(h, h.Folder(c.Workspace)); err != nil {
			err = c.Wrong(err)
		}
	}
	return h, c, usage(err)
}

// secretNames are the variables whose values are hidden, beside those that are
// secret by their name.
func secretNames(c config.Config) []string {
	return append(slices.Clone(c.Secrets), c.Model.APIKeyEnv, c.Notebook.TokenEnv, vault.KeyVariable)
}

// redactor hides all secrets that were read: those of the environment and, once
// they are read, those of .mcp.json and of connections.
func (a *app) redactor() *redact.Redactor {
	return redact.FromEnv(a.environ, a.secrets).And(a.private)
}

// redacted is a text without secrets.
func (a *app) redacted(text string) string { return a.redactor().String(text) }

// hide adds secrets to those that are hidden from now on.
func (a *app) hide(secrets map[string]string) {
	all := maps.Clone(secrets)
	maps.Copy(all, a.private)
	a.private = all
}

// redactorOf is the redactor of a home for a verb that starts no cycle. What
// cannot be read holds no secret that the verb could show.
func (a *app) redactorOf(h home.Home, c config.Config) *redact.Redactor {
	_, _ = a.mcpConfig(h, c)
	_, _ = a.credentials(h, c)
	return a.redactor()
}

// checkWorkspace refuses a workspace in which tools could change the agent's own
// files: its memory, its rules, its configuration and its logs.
func checkWorkspace(h home.Home, dir string) error {
	home, dir := resolved(h.Dir), resolved(dir)
	if below(home, dir) {
		return fmt.Errorf("workspace %s holds the home itself, and with it the agent's memory and rules; name a folder in it or beside it", dir)
	}
	for _, own := range []string{h.Memory(), h.Logs(), h.Bin()} {
		if below(dir, resolved(own)) {
			return fmt.Errorf("workspace %s is among the agent's own files; name another folder", dir)
		}
	}
	return nil
}

// resolved is a path without links, as far as it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// below says whether a path is at or in a folder.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// agent wires an agent from the configuration of its home.
func (a *app) agent(h home.Home, c config.Config) (*agent.Agent, error) {
	mark := rand.Text()
	runner := &proc.Runner{Mark: mark, Env: proc.Environ(a.harmless(c))}
	servers, err := a.mcpConfig(h, c)
	if err != nil {
		return nil, err
	}
	granted, err := a.credentials(h, c)
	if err == nil {
		_, err = a.remoteToken(c.Notebook)
	}
	if err != nil {
		return nil, usage(err)
	}
	hide := a.redactor()
	set, err := a.tools(h, c, runner)
	if err != nil {
		return nil, usage(c.Wrong(err))
	}
	m, err := a.model(c.Model, hide)
	if err != nil {
		return nil, usage(err)
	}
	m, spending, err := a.limited(h, c, m)
	if err != nil {
		return nil, usage(err)
	}
	return &agent.Agent{
		Version: version(), Config: c.Held(),
		Budget: spending, Notify: a.notifier(h, c, runner, hide), Retention: a.shelfLife(h, c),
		Waking:    a.wakingOf(h, c),
		Heartbeat: a.heartbeat(h, c), ModelName: modelName(c.Model), PauseAfter: int(c.Failures.PauseAfter),
		Home: h, Workspace: h.Folder(c.Workspace), Model: m, Tools: set, Boxes: a.boxes(notebooks{home: h, config: c, runner: runner, hide: hide, credentials: granted, environ: a.environ, now: a.now}, servers), Redact: hide, Mark: mark, Now: a.now,
		Observations: store(c.Observations, a.now), Threshold: int(c.Observations.Threshold),
		MaxIterations: int(c.Cycle.MaxIterations), Timeout: time.Duration(c.Cycle.Timeout), Locked: c.Cycle.Locked,
		Summaries: c.Observations.Summary == "model" && c.Model.Provider != "offline",
		NotesMax:  int(c.Cycle.NotesMax), Protocol: c.Model.Protocol, ModelID: c.Model.Name + " at " + c.Model.BaseURL,
		MaxTokens: int(c.Conversation.MaxTokens), KeepResults: int(c.Conversation.KeepResults),
		Notes: tools.NoteMode(c.Conversation.TaskScratchpad),
	}, nil
}

// boxes are the tools that need something running.
func (a *app) boxes(n notebooks, servers mcp.Config) (list []agent.OpenBox) {
	list = append(list, n.box)
	if len(servers.Servers) > 0 {
		list = append(list, func(ctx context.Context, host agent.Host) agent.Box {
			o := mcpOptions(n.home, n.runner, n.hide)
			o.Started = host.Started
			return serverBox{mcp.Start(ctx, servers, o)}
		})
	}
	return list
}

// serverBox are the tools of MCP servers.
type serverBox struct{ *mcp.Servers }

// Problems are also what is seen for the first time.
func (b serverBox) Problems() []string { return append(b.News(), b.Servers.Problems()...) }

// harmless is the environment without the variables that hold secrets, such as
// an LC_TOKEN, which would pass as one of the language.
func (a *app) harmless(c config.Config) []string {
	return slices.DeleteFunc(slices.Clone(a.environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return redact.IsSecretName(name) || name == c.Model.APIKeyEnv || slices.Contains(c.Secrets, name)
	})
}

// store says how large observations are kept.
func store(o config.Observations, now func() time.Time) observation.Options {
	return observation.Options{
		MaxBytes: int64(o.MaxBytes), TTL: time.Duration(o.TTL), Codec: observation.Codec(o.Codec), PreviewChars: int(o.PreviewChars), Now: now,
	}
}

// tools registers every tool that the home has.
func (a *app) tools(h home.Home, c config.Config, r *proc.Runner) (*tools.Set, error) {
	workspace := h.Folder(c.Workspace)
	timeout, most := time.Duration(c.Tools.Shell.Timeout), int64(c.Tools.MaxOutput)
	list := []tools.Tool{tools.Echo(), shell.Tool(r, workspace, timeout, most)}
	folder := files.Folder{Workspace: workspace, Limit: most}
	for _, root := range c.Tools.Files.Roots {
		folder.Roots = append(folder.Roots, h.Folder(root))
	}
	list = append(list, folder.Tools()...)
	list = append(list, web.Get(web.Options{
		Timeout: time.Duration(c.Tools.HTTP.Timeout), MaxBytes: most, Allow: c.Tools.HTTP.Allow,
	}))
	exec := command.Exec{Runner: r, Dir: workspace, Timeout: timeout, MaxOutput: most}
	for i, spec := range c.Tools.Commands {
		t, err := command.Tool(command.Spec(spec), exec)
		if err != nil {
			return nil, fmt.Errorf("tools.commands[%d]: %w", i, err)
		}
		list = append(list, t)
	}
	set, err := tools.NewSet(list...)
	if err != nil { // only names of commands can be at fault
		return nil, fmt.Errorf("tools.commands: %w", err)
	}
	return set, nil
}

func (a *app) model(m config.Model, hide *redact.Redactor) (agent.Model, error) {
	if m.Provider == "offline" {
		return &model.Offline{}, nil
	}
	return model.NewClient(model.Options{
		BaseURL: m.BaseURL, Key: a.getenv(m.APIKeyEnv), KeyName: m.APIKeyEnv, Name: m.Name,
		MaxOutput: int(m.MaxOutput), IdleTimeout: time.Duration(m.IdleTimeout), Retries: int(m.Retries), Redact: hide.String,
	})
}
