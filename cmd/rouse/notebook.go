package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/tools"
	"rouse/tools/notebook"
	"rouse/tools/notebook/local"
)

// How long the notebooks of a cycle may take to save their variables: a cycle
// that was told to stop has little time.
const (
	notebookPatience = time.Minute
	notebookHurry    = 3 * time.Second
)

// notebooks says how the notebooks of a home are run.
type notebooks struct {
	home   home.Home
	config config.Config
	runner *proc.Runner
	hide   *redact.Redactor
	// credentials are what cells may see.
	credentials credentials
	// environ is the process's own, for the installers' settings.
	environ []string
	now     func() time.Time
}

// manager makes the manager of the notebooks; cells ask llm.
func (n notebooks) manager(llm notebook.LLM) (*notebook.Manager, error) {
	open, err := n.backend(llm)
	if err != nil {
		return nil, err
	}
	return &notebook.Manager{Dir: n.home.Notebooks(), FS: disk.OS{}, Open: open, Redact: n.hide, Now: n.now}, nil
}

// backend opens the runtimes.
func (n notebooks) backend(llm notebook.LLM) (func(name, dir string) (notebook.Runtime, error), error) {
	if n.config.Notebook.Backend == "remote" {
		return n.remote(llm)
	}
	c := n.local(llm)
	c.Env, c.Secret = n.credentials.env, n.credentials.secret
	return func(_, dir string) (notebook.Runtime, error) {
		// What the environment has is named from the next cycle on.
		_, _ = c.Libraries(context.Background(), n.home.Notebooks())
		return c.Open(dir)
	}, nil
}

func (n notebooks) local(llm notebook.LLM) local.Config {
	c := n.config.Notebook
	return local.Config{
		Runner: n.runner, FS: disk.OS{}, Workspace: n.home.Folder(n.config.Workspace), Python: c.Python, Isolated: c.Isolated,
		Limits: notebook.Limits{Default: time.Duration(c.Timeout), Idle: time.Duration(c.Idle), Max: time.Duration(c.Max)},
		Memory: int64(c.Memory), MaxOutput: int64(n.config.Tools.MaxOutput), InstallEnv: local.InstallEnviron(n.environ), LLM: llm,
	}
}

// box offers the notebook tool in a cycle.
func (n notebooks) box(ctx context.Context, host agent.Host) agent.Box {
	b := &notebookBox{ctx: ctx}
	m, err := n.manager(bridge{host, n.config.Model.Name})
	if err != nil {
		b.problems = []string{"notebooks: " + err.Error()}
		return b
	}
	b.manager = m
	if n.config.Notebook.Backend == "remote" {
		b.tools = []tools.Tool{notebook.Tool(m, nil)} // what the server has, cells find out
		return b
	}
	libraries, found := n.local(nil).Known(m.Dir)
	switch python := n.config.Notebook.Python; {
	case found:
		b.tools = []tools.Tool{notebook.Tool(m, libraries)}
	case python != "": // without, a machine that has no Python has no notebooks, which the doctor says
		b.problems = []string{fmt.Sprintf("notebooks: notebook.python %s is not there", python)}
	}
	return b
}

// notebookBox is the notebook tool in a cycle.
type notebookBox struct {
	ctx      context.Context
	manager  *notebook.Manager
	tools    []tools.Tool
	problems []string
}

// Tools is the notebook tool, if there is a Python to run it.
func (b *notebookBox) Tools() []tools.Tool { return b.tools }

// Problems are why there is none.
func (b *notebookBox) Problems() []string { return b.problems }

// Close saves the variables of all notebooks and ends them.
func (b *notebookBox) Close() {
	if b.manager == nil {
		return
	}
	patience := notebookPatience
	if b.ctx.Err() != nil {
		patience = notebookHurry
		b.manager.Cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// What could not be saved is told to the next cell.
	_ = b.manager.Close(ctx)
}

// bridge answers the cells that ask a model with the model of the cycle.
type bridge struct {
	host agent.Host
	name string
}

// Complete asks the model.
func (b bridge) Complete(ctx context.Context, p notebook.Prompt) (notebook.Completion, error) {
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
	reply, err := b.host.Ask(ctx, "notebook", req)
	if err != nil {
		return notebook.Completion{}, fmt.Errorf("ask the model: %w", err)
	}
	done := notebook.Completion{Text: reply.Text, Input: reply.Usage.Input, Output: reply.Usage.Output}
	for _, c := range reply.Calls {
		done.Calls = append(done.Calls, notebook.Call(c))
	}
	return done, nil
}

// Search asks a model that searches the web by itself, as those with "search" in
// their names do; others cannot.
func (b bridge) Search(ctx context.Context, query string) (string, error) {
	if !strings.Contains(b.name, "search") {
		return "", notebook.ErrNoSearch
	}
	done, err := b.Complete(ctx, notebook.Prompt{Messages: []notebook.Message{{Role: model.User, Content: query}}})
	return done.Text, err
}
