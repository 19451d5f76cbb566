package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"rouse/agent"
	"rouse/agent/approval"
	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/history"
	"rouse/agent/model"
	"rouse/agent/notify"
	"rouse/agent/retention"
	"rouse/agent/schedule"
	"rouse/home"
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

func (s *Setup) newAgent() (*agent.Agent, error) {
	walls, err := s.Walls()
	if err != nil {
		return nil, err
	}
	hide, err := s.hidden()
	if err == nil {
		_, err = s.remoteToken()
	}
	if err != nil {
		return nil, err
	}
	set, err := s.Tools()
	if err != nil {
		return nil, s.Config.Wrong(err)
	}
	m, spending, err := s.model(hide)
	if err != nil {
		return nil, err
	}
	others, err := s.fallbacks(hide)
	if err != nil {
		return nil, err
	}
	c, keeper := s.Config, s.keeper(hide)
	if keeper.Sandbox = walls.String(); walls == nil && c.Posture != "" {
		keeper.Sandbox = c.Sandbox.Mode
	}
	keeper.Walled = walls != nil && s.Unwalled() == nil
	var asked *approval.File // which tools could write else
	if keeper.Walled {
		asked = s.Approvals()
	}
	return &agent.Agent{
		Approvals: asked,
		Keeper:    keeper, Asking: s.asking(m, others), Tools: set, Boxes: s.boxes(),
		Observations: s.Observations(), Threshold: int(c.Observations.Threshold), Locked: c.Cycle.Locked,
		Budget: spending, Demo: Demo(), Retention: s.Retention(), Heartbeat: s.Heartbeat(), Waking: s.waking(), Checks: s.checks(), PauseAfter: int(c.Failures.PauseAfter), Consent: s.consent(), Export: s.exporting(hide),
	}, nil
}

func (s *Setup) keeper(hide *redact.Redactor) agent.Keeper {
	c := s.Config
	return agent.Keeper{
		Home: s.Home, Disk: s.disk(), Redact: hide, Now: s.Now, Workspace: s.Home.Folder(c.Workspace), History: s.History(), Variables: s.variables, Sources: s.sources(), Mark: s.Runner().Mark,
		NotesMax: int(c.Cycle.NotesMax), CompletedMax: int(c.Cycle.CompletedMax), Version: s.Version, Config: c.Held(), Found: s.found(), Notify: s.notifier(hide),
	}
}

// Rewind puts the home back to what it was before a cycle, or says what that changes.
func (s *Setup) Rewind(r agent.Rewind, do bool) (agent.Rewinding, error) {
	k := s.keeper(s.Hidden())
	return k.Rewind(r, do)
}

// Settled says that, in place of a cycle, one was settled that had been interrupted: whoever
// is handed what must not be lost keeps the memory that came of it, before another begins.
func (s *Setup) Settled(may bool) (bool, error) {
	if s.Mirror == nil || !may {
		return false, nil // the wake does it
	}
	k := s.keeper(s.Hidden())
	cycle, err := k.Settle()
	return cycle != "", err
}

// Forget takes a value out of the home, or says where it stands.
func (s *Setup) Forget(ctx context.Context, value string, do bool) (agent.Forgotten, error) {
	k := s.keeper(s.Hidden())
	return k.Forget(ctx, value, do)
}

// History is where versions of the workspace are kept; nil where they are not.
func (s *Setup) History() *history.Store {
	c := s.Config.History
	if !c.On(s.Config.Workspace) {
		return nil
	}
	return &history.Store{Dir: s.Home.History(), Of: s.Config.Workspace, MaxFile: int64(c.MaxFile), MaxBytes: int64(c.MaxBytes), Follow: c.Workspace == "on"}
}

// Restore puts a key of the memory back to what it was before a cycle.
func (s *Setup) Restore(cycle, key string) error {
	k := s.keeper(s.Hidden())
	return k.Restore(cycle, key)
}

func (s *Setup) asking(m agent.Model, others []agent.Target) agent.Asking {
	c := s.Config
	style, _ := c.Model.Style() // which the configuration checked
	return agent.Asking{
		Model: m, ModelName: s.ModelName(), ModelID: c.Model.Name + " at " + c.Model.BaseURL, Style: style, Fallback: others, Protocol: c.Model.Protocol,
		MaxIterations: int(c.Cycle.MaxIterations), Timeout: time.Duration(c.Cycle.Timeout),
		MaxTokens: int(c.Conversation.MaxTokens), KeepResults: int(c.Conversation.KeepResults), MaxOutput: int(c.Model.MaxOutput),
		Notes: tools.NoteMode(c.Conversation.TaskScratchpad), Summaries: c.Observations.Summary == "model" && c.Model.Provider != "offline",
	}
}

// boxes are the tools that need something running.
func (s *Setup) boxes() (list []agent.OpenBox) {
	list = append(list, s.recallBox, s.skillBox, s.notebookBox, s.preparing)
	if servers, err := s.Servers(); err == nil && len(servers.Servers) > 0 {
		list = append(list, func(ctx context.Context, host agent.Host) agent.Box {
			o := s.serverOptions()
			o.Started, o.Known, o.Accepted = host.Started, host.Known, host.Accepted
			m := mcp.Start(ctx, servers, o)
			box := agent.Box{Tools: m.Tools(), Problems: append(m.News(), m.Problems()...), Waiting: m.Waiting(), Close: m.Close}
			if s.sources() != nil {
				box.From = m.Unread()
			}
			return box
		})
	}
	return list
}

// preparing makes ready what confines the tools, beside what the cycle does meanwhile.
func (s *Setup) preparing(context.Context, agent.Host) agent.Box {
	walls, _ := s.Walls() // who starts anything has looked at the error
	if walls.Tools() == nil {
		return agent.Box{}
	}
	var prepared sync.WaitGroup
	prepared.Go(walls.Tools().Prepare)
	return agent.Box{Close: prepared.Wait}
}

// serverOptions say how the home's MCP servers are run.
func (s *Setup) serverOptions() mcp.Options {
	walls, _ := s.Walls() // who starts anything has looked at the error
	return mcp.Options{Runner: s.Runner(), Box: walls.Server, Pins: s.Home.ServerPins(), Version: s.Version, Redact: s.Hidden(), Logins: s.logins(), Now: s.Now}
}

// Observations says how large observations are kept.
func (s *Setup) Observations() observation.Options {
	o := s.Config.Observations
	return observation.Options{
		MaxBytes: int64(o.MaxBytes), TTL: time.Duration(o.TTL), Stay: time.Duration(s.Config.Retention.KeepFailed), Codec: observation.Codec(o.Codec), PreviewChars: int(o.PreviewChars), Now: s.Now,
	}
}

func (s *Setup) newTools() (*tools.Set, error) {
	c, workspace := s.Config.Tools, s.Home.Folder(s.Config.Workspace)
	timeout, most := time.Duration(c.Shell.Timeout), int64(c.MaxOutput)
	walls, err := s.Walls()
	if err != nil {
		return nil, err
	}
	exec := command.Exec{Runner: s.Runner(), Dir: workspace, Timeout: timeout, MaxOutput: most, Box: walls.Tools()}
	sh := shell.Tool(exec)
	confined := walls.effect()
	sh.Effect = confined
	list := []tools.Tool{tools.Echo(), sh}
	list = append(list, s.folder().Tools()...)
	list = append(list, web.Get(web.Options{Timeout: time.Duration(c.HTTP.Timeout), MaxBytes: most, Allow: c.HTTP.Allow, Ports: c.HTTP.Ports, Redact: s.Hidden()}))
	for i, spec := range c.Commands {
		t, err := command.Tool(spec, exec)
		if err != nil {
			return nil, fmt.Errorf("tools.commands[%d]: %w", i, err)
		}
		t.Effect = cmp.Or(t.Effect, confined)
		list = append(list, t)
	}
	set, err := tools.NewSet(list...)
	if err != nil { // only names of commands can be at fault
		return nil, fmt.Errorf("tools.commands: %w", err)
	}
	return set, nil
}

// folder is what the file tools work in.
func (s *Setup) folder() files.Folder {
	c := s.Config.Tools
	f := files.Folder{Workspace: s.Home.Folder(s.Config.Workspace), Limit: int64(c.MaxOutput), Wall: wall(s.Home)}
	for _, root := range c.Files.Roots {
		f.Roots = append(f.Roots, s.Home.Folder(root))
	}
	return f
}

// ModelName is the name by which replies are counted and priced.
func (s *Setup) ModelName() string {
	if s.Config.Model.Provider == "offline" {
		return "offline"
	}
	return s.Config.Model.Name
}

// model is the model of the home, which keeps to the limits of the home.
func (s *Setup) model(hide *redact.Redactor) (agent.Model, *budget.Budget, error) {
	b, err := s.Budget()
	if err != nil {
		return nil, nil, err
	}
	m, err := s.within(b, s.Config.Model, hide, false)
	return m, b, err
}

// Asker is the model of the home, within its limits, for a question beside its
// cycles; plain asks without streaming.
func (s *Setup) Asker(plain bool) (agent.Model, error) {
	b, err := s.Budget()
	if err != nil {
		return nil, err
	}
	return s.within(b, s.Config.Model, s.Redactor(), plain)
}

// fallbacks are the models that are asked where that one is away.
func (s *Setup) fallbacks(hide *redact.Redactor) (list []agent.Target, err error) {
	b, err := s.Budget()
	if err != nil {
		return nil, err
	}
	for i, f := range s.Config.Model.Fallbacks() {
		m, err := s.within(b, f, hide, false)
		if err != nil {
			return nil, s.Config.Wrong(fmt.Errorf("model.fallback[%d]: %w", i, err))
		}
		id := f.Name + " at " + f.BaseURL
		if f.APIKeyEnv != s.Config.Model.APIKeyEnv {
			id += " with " + f.APIKeyEnv
		}
		style, _ := f.Style()
		list = append(list, agent.Target{Model: m, ModelName: f.Name, ModelID: id, Style: style})
	}
	return list, nil
}

// within is a model that keeps to a budget, by its own prices.
func (s *Setup) within(b *budget.Budget, m config.Model, hide *redact.Redactor, plain bool) (agent.Model, error) {
	client, err := s.client(m, hide, plain)
	if err != nil || !b.Limited() {
		return client, err
	}
	prices, err := s.Prices()
	if err != nil {
		return nil, err
	}
	price, _ := prices.Of(m.Name)
	if s.Config.Limits.Money() && m.Provider != "offline" {
		if price, err = prices.Need(m.Name); err != nil {
			return nil, err
		}
	}
	return &budget.Model{Next: client.Reply, Budget: b, Price: price, MaxOutput: int(m.MaxOutput)}, nil
}

// client asks a model.
func (s *Setup) client(m config.Model, hide *redact.Redactor, plain bool) (agent.Model, error) {
	if m.Provider == "offline" {
		return &model.Offline{}, nil
	}
	style, _ := m.Style()
	return model.NewClient(model.Options{
		BaseURL: m.BaseURL, API: m.API, Style: style, Key: s.Getenv(m.APIKeyEnv), KeyName: cmp.Or(m.APIKeyEnv, "api_key_env"), Name: m.Name,
		MaxOutput: int(m.MaxOutput), IdleTimeout: time.Duration(m.IdleTimeout), Retries: int(m.Retries), Redact: hide.String, Plain: plain,
	})
}

// CheckModel says why a model of the configuration could not be asked.
func (s *Setup) CheckModel(m config.Model) error {
	_, err := s.client(m, nil, false)
	return err
}

func (s *Setup) newBudget() (*budget.Budget, error) {
	b := &budget.Budget{Path: s.Home.Spend(), Disk: s.disk(), Now: s.Now, Limits: s.Config.Limits}
	if !b.Limited() {
		return b, nil
	}
	prices, err := s.Prices()
	b.Currency = prices.Currency
	return b, err
}

// waking is what cycles and the schedule tell each other.
func (s *Setup) waking() agent.Waking {
	wake := s.Config.Cycle.NextWake
	results := s.hookResults()
	for _, e := range s.Config.Schedule {
		if e.Deliver.File != "" {
			results = append(results, agent.Result{Task: e.Task, File: e.Deliver.File, To: e.Deliver.To})
		}
	}
	return agent.Waking{
		Results: results, Min: time.Duration(wake.Min), Max: time.Duration(wake.Max),
		Ask:      func(when time.Time) error { return s.Slots().Ask(schedule.NextWake, when) },
		IdleSkip: slices.ContainsFunc(s.Config.Schedule, func(e schedule.Entry) bool { return e.IdleSkip }), Watch: s.Watched(),
	}
}

// Watched are the files and folders whose change is news.
func (s *Setup) Watched() (paths []string) {
	for _, path := range s.Config.Watch {
		paths = append(paths, s.Home.Folder(path))
	}
	return paths
}

// Notifier tells people of the home.
func (s *Setup) Notifier() *notify.Notifier { return s.notifier(s.Redactor()) }

func (s *Setup) notifier(hide *redact.Redactor) *notify.Notifier {
	return &notify.Notifier{Path: s.Home.Told(), Home: s.Home.Dir, Sinks: s.Config.Notify, Runner: s.Runner(), Redact: hide, Now: s.Now, Once: s.once(), Getenv: s.Getenv}
}

// Heartbeat is the home's sign of life.
func (s *Setup) Heartbeat() notify.Heartbeat {
	return notify.Heartbeat{Target: s.Config.Heartbeat, Home: s.Home.Dir, Now: s.Now}
}

// Retention is how long the home keeps what cycles leave.
func (s *Setup) Retention() *retention.Store {
	r := s.Config.Retention
	return &retention.Store{
		Home: s.Home, Now: s.Now, Temp: s.temp(),
		Policy: retention.Policy{Keep: time.Duration(r.Keep), KeepFailed: time.Duration(r.KeepFailed)},
	}
}

// temp is the folder of temporary files, which is the home's own only where it has
// walls, and nobody keeps there what is to stay.
func (s *Setup) temp() string {
	w := s.Config.Walls()
	if !w.Stand() || slices.ContainsFunc(append(w.Write, s.Home.Folder(s.Config.Workspace)), s.Home.IsTemp) {
		return ""
	}
	return s.Home.Temp()
}

// credentials are what the connections of a home come to.
type credentials struct {
	// env are the fields that are granted to cells, as NAME=value; of those named
	// in secret the values are never saved.
	env, secret []string
}

// readCredentials reads the connections of the vault and of .env, if there are
// any, hides the secret values of all of them, and grants those that rouse.yaml names.
func (s *Setup) readCredentials() (credentials, error) {
	var all []vault.Variable
	if v := Vault(s.Home, s.Process); v.Exists() {
		known, err := v.Load()
		if err != nil {
			return credentials{}, err
		}
		all = known.Variables()
	}
	all = append(all, s.Dotenv.All...)
	granted, err := vault.Grant(all, s.Config.Notebook.Credentials)
	if err != nil {
		return credentials{}, s.Config.Wrong(fmt.Errorf("notebook.credentials: %w", err))
	}
	s.Hide(vault.Secrets(all))
	secret := slices.Sorted(maps.Keys(vault.Secrets(granted)))
	return credentials{vault.Environ(granted), secret}, nil
}

// wall keeps the file tools from the agent's own files.
func wall(h home.Home) files.Wall {
	return files.Wall{Home: h.Dir, Hidden: home.Names(home.Hidden), ReadOnly: home.Names(home.ReadOnly)}
}
