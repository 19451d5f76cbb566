package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/model"
	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/tools"
	"rouse/tools/notebook"
	"rouse/tools/notebook/local"
	"rouse/tools/notebook/remote"
	"rouse/tools/notebook/serve"
)

// How long notebooks may take to save their variables: who was told to stop has
// little time.
const (
	NotebookPatience = time.Minute
	notebookHurry    = 3 * time.Second
)

// Notebooks are the notebooks of the home, with a model for their cells; close
// saves their variables and ends them.
func (s *Setup) Notebooks(ctx context.Context) (m *notebook.Manager, close func(), err error) {
	if _, err := s.Walls(); err != nil {
		return nil, nil, err
	}
	hide := s.Hidden()
	asked, spending, err := s.model(hide)
	if err != nil {
		return nil, nil, err
	}
	spending.Begin("notebook")
	ask := func(ctx context.Context, _ string, req model.Request) (model.Reply, error) {
		if err := s.CheckURL(); err != nil { // the key is not sent there
			return model.Reply{}, err
		}
		return asked.Reply(ctx, req)
	}
	if m, err = s.manager(hide, s.bridge(agent.Host{Ask: ask, Tool: s.toolAlone})); err != nil {
		return nil, nil, err
	}
	return m, func() { closeNotebooks(ctx, m) }, nil
}

// Written are the notebooks of the home to be looked at: nothing runs in them.
func (s *Setup) Written() *notebook.Manager {
	return &notebook.Manager{Dir: s.Home.Notebooks(), FS: disk.OS{}, Redact: s.Hidden()}
}

// RunCell runs a cell in a notebook, as `rouse notebook exec` does, and ends it with ctx.
func (s *Setup) RunCell(ctx context.Context, name, code string) (c notebook.Cell, err error) {
	if strings.TrimSpace(code) == "" {
		return c, errors.New("there is no code to run")
	}
	m, close, err := s.Notebooks(ctx)
	if err != nil {
		return c, err
	}
	defer close()
	return m.Exec(ctx, name, notebook.Request{Code: code})
}

// Cell is a cell that ran.
func (s *Setup) Cell(name string, number int) (notebook.Cell, error) {
	store, err := s.Written().Store(name)
	if err != nil {
		return notebook.Cell{}, err
	}
	return store.Find(number)
}

// variables are those that each notebook has saved, by name.
func (s *Setup) variables() map[string][]string {
	m := notebook.Manager{Dir: s.Home.Notebooks()}
	names, _ := m.Names() // what cannot be listed is not told
	all := map[string][]string{}
	for _, name := range names {
		if saved := local.Saved(filepath.Join(m.Dir, name)); len(saved) > 0 {
			all[name] = saved
		}
	}
	return all
}

// manager makes the manager of the notebooks; cells ask llm.
func (s *Setup) manager(hide *redact.Redactor, llm notebook.LLM) (*notebook.Manager, error) {
	granted, err := s.credentials()
	if err != nil {
		return nil, err
	}
	open, err := s.runtimes(granted, llm)
	if err != nil {
		return nil, err
	}
	return &notebook.Manager{
		Dir: s.Home.Notebooks(), FS: disk.OS{}, Open: open, Variables: granted.names(), Redact: hide, Now: s.Now,
		Before: s.hook("before", s.Config.Notebook.Before), After: s.hook("after", s.Config.Notebook.After),
	}, nil
}

// names are those of the variables, without their values.
func (c credentials) names() []string {
	var list []string
	for _, e := range c.env {
		name, _, _ := strings.Cut(e, "=")
		list = append(list, name)
	}
	return list
}

// runtimes opens the runtimes: processes of ours, or those of a server.
func (s *Setup) runtimes(granted credentials, llm notebook.LLM) (func(name, dir string) (notebook.Runtime, error), error) {
	if c := s.Config.Notebook; c.Backend == "remote" {
		if err := s.CheckEndpoint(); err != nil { // no token is sent there
			return nil, err
		}
		token, err := s.remoteToken()
		if err != nil {
			return nil, err
		}
		client := &remote.Client{
			Endpoint: c.Endpoint, Token: token, TokenName: "the token in $" + c.TokenEnv, Env: granted.env, Secret: granted.secret, LLM: llm, Redact: s.Hidden(),
		}
		return func(name, _ string) (notebook.Runtime, error) { return client.Open(name) }, nil
	}
	c := s.local(llm)
	c.Env, c.Secret = granted.env, granted.secret
	return func(_, dir string) (notebook.Runtime, error) {
		// What the environment has is named from the next cycle on.
		_, _ = c.Libraries(context.Background(), s.Home.Notebooks())
		return c.Open(dir)
	}, nil
}

// remoteToken is the token of the server that rouse.yaml names, if it names one.
func (s *Setup) remoteToken() (string, error) {
	c := s.Config.Notebook
	if c.Backend != "remote" {
		return "", nil
	}
	token := s.Getenv(c.TokenEnv)
	if token == "" {
		return "", fmt.Errorf("rouse.yaml: notebook.token_env: there is no token in $%s", c.TokenEnv)
	}
	return token, nil
}

func (s *Setup) local(llm notebook.LLM) local.Config {
	c := s.Config.Notebook
	walls, _ := s.Walls() // who starts anything has looked at the error
	return local.Config{
		Runner: s.Runner(), Boxes: walls.Notebook, FS: disk.OS{}, Workspace: s.Home.Folder(s.Config.Workspace), Python: c.Python, Isolated: c.Isolated,
		Limits: notebook.Limits{Default: time.Duration(c.Timeout), Idle: time.Duration(c.Idle), Max: time.Duration(c.Max)},
		Memory: int64(c.Memory), MaxOutput: int64(s.Config.Tools.MaxOutput), InstallEnv: walls.settings(local.InstallEnviron(s.Environ)), LLM: llm, Redact: s.Hidden(),
	}
}

// OpenServed opens the runtimes that are served to others: as the home's own,
// each in a folder of its own.
func (s *Setup) OpenServed(p serve.Place) (notebook.Runtime, error) {
	c := s.local(p.LLM)
	c.Workspace, c.Env, c.Secret = filepath.Join(p.Dir, "workspace"), p.Env, p.Secret
	return c.Open(p.Dir)
}

// notebookBox offers the notebook tool in a cycle.
func (s *Setup) notebookBox(ctx context.Context, host agent.Host) agent.Box {
	hide, err := s.hidden()
	var m *notebook.Manager
	if err == nil {
		m, err = s.manager(hide, s.bridge(host))
	}
	if err != nil {
		return agent.Box{Problems: []string{"notebooks: " + err.Error()}}
	}
	box := agent.Box{Close: func() { closeNotebooks(ctx, m) }}
	if s.Config.Notebook.Backend == "remote" {
		box.Tools = []tools.Tool{s.notebook(m, nil)} // what the server has, cells find out
		return box
	}
	libraries, found := s.local(nil).Known(m.Dir)
	switch python := s.Config.Notebook.Python; {
	case found:
		box.Tools = []tools.Tool{s.notebook(m, libraries)}
	case python != "": // without, a machine that has no Python has no notebooks, which the doctor says
		box.Problems = []string{fmt.Sprintf("notebooks: notebook.python %s is not there", python)}
	}
	return box
}

// notebook is the tool. Cells reach out as their box does, and by a search.
func (s *Setup) notebook(m *notebook.Manager, libraries []string) tools.Tool {
	t := notebook.Tool(m, libraries)
	t.Effect = s.cellEffect()
	return t
}

func (s *Setup) cellEffect() string {
	walls, _ := s.Walls() // who starts anything has looked at the error
	if s.Config.Notebook.Backend == "remote" || s.Config.Notebook.Search != "" || strings.Contains(s.Config.Model.Name, "search") {
		return ""
	}
	return walls.effect()
}

// closeNotebooks saves the variables of all notebooks and ends them, in a hurry
// where who used them was told to end.
func closeNotebooks(used context.Context, m *notebook.Manager) {
	patience := NotebookPatience
	if used.Err() != nil {
		patience = notebookHurry
		m.Cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// What could not be saved is told to the next cell.
	_ = m.Close(ctx)
}

// bridge answers the cells that ask a model with the model of the cycle. For the web
// it calls the tool that notebook.search names. Without one, a model that searches by
// itself, as those with "search" in their names do, is asked to; others cannot.
func (s *Setup) bridge(host agent.Host) notebook.LLM {
	return func(ctx context.Context, q notebook.Question) (notebook.Completion, error) {
		switch {
		case q.Prompt != nil:
			return complete(ctx, host, *q.Prompt)
		case s.Config.Notebook.Search != "":
			return s.search(ctx, host, q.Query)
		case !strings.Contains(s.Config.Model.Name, "search"):
			return notebook.Completion{}, notebook.ErrNoSearch
		}
		return complete(ctx, host, notebook.Prompt{Messages: []notebook.Message{{Role: model.User, Content: q.Query}}})
	}
}

// complete asks the model to complete a prompt.
func complete(ctx context.Context, host agent.Host, p notebook.Prompt) (notebook.Completion, error) {
	req := model.Request{Force: p.Force, MaxOutput: p.MaxTokens}
	if p.System != "" {
		req.Messages = append(req.Messages, model.Message{Role: model.System, Content: p.System})
	}
	for _, m := range p.Messages {
		message := model.Message{Role: m.Role, Content: m.Content, Call: m.Call}
		for _, c := range m.Calls {
			message.Calls = append(message.Calls, model.Call(c))
		}
		req.Messages = append(req.Messages, message)
	}
	for _, f := range p.Tools {
		req.Tools = append(req.Tools, model.Tool(f))
	}
	reply, err := host.Ask(ctx, "notebook", req)
	if err != nil {
		return notebook.Completion{}, fmt.Errorf("ask the model: %w", err)
	}
	done := notebook.Completion{Text: reply.Text, Input: reply.Usage.Input, Output: reply.Usage.Output}
	for _, c := range reply.Calls {
		done.Calls = append(done.Calls, notebook.Call(c))
	}
	return done, nil
}
