package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rouse/agent/telemetry"
	"rouse/agent/trust"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/tools/mcp"
)

// found is what the home's files name as its model's address and its servers.
func (s *Setup) found() (f trust.Found) {
	f.BaseURL, f.Overridden = s.Config.FileURL()
	f.Asked = s.Config.Model.BaseURL
	for _, m := range s.Config.Model.Fallback {
		if m.BaseURL != "" || m.APIKeyEnv != "" {
			f.Fallback = append(f.Fallback, trust.Address{URL: m.BaseURL, Key: m.APIKeyEnv})
		}
	}
	if n := s.Config.Notebook; n.Backend == "remote" {
		f.Notebook = trust.Address{URL: n.Endpoint, Key: n.TokenEnv}
	}
	for _, v := range s.Dotenv.Added { // a tool can write .env, too
		if v.Name == "OPENAI_BASE_URL" && v.Value != "" {
			f.BaseURL, f.Overridden, f.Where = v.Value, false, "OPENAI_BASE_URL in .env"
		}
	}
	servers, err := s.Servers()
	if err != nil {
		return f // who needs the servers is told
	}
	for _, server := range servers.Servers {
		if !server.Disabled {
			f.Servers = append(f.Servers, trusted(server))
		}
	}
	return f
}

func trusted(s mcp.Server) trust.Server {
	return trust.Server{Name: s.Name, Command: s.Source, Shown: s.Start()}
}

// known is what the home relied on before, as its files say now.
func (s *Setup) known() trust.Known {
	newest, _ := s.Home.Newest() // logs that cannot be read are told elsewhere
	return s.knownBy(newest)
}

func (s *Setup) knownBy(newest string) trust.Known {
	key, _ := s.Home.Key()
	return trust.Read(s.Home, key, newest)
}

// CheckURL says whether cycles refuse the model's address, as another hand may
// have changed it.
func (s *Setup) CheckURL() error {
	f := s.found()
	f.Servers, f.Notebook = nil, trust.Address{}
	return s.known().Err(f)
}

// CheckEndpoint says the same of the server of remote notebooks.
func (s *Setup) CheckEndpoint() error {
	if changed := s.known().CheckNotebook(s.found()); changed != nil {
		return changed
	}
	return nil
}

// AcceptEndpoint accepts the server of remote notebooks that an operator named.
func (s *Setup) AcceptEndpoint(endpoint, tokenEnv string) error {
	return trust.Accept(s.Home, disk.OS{}, trust.Found{Notebook: trust.Address{URL: endpoint, Key: tokenEnv}}.SetNotebook)
}

// CheckURLAlone says the same of cycles that have nothing of this terminal's
// environment.
func (s *Setup) CheckURLAlone() error {
	p := s.Alone()
	p.Environ = slices.DeleteFunc(slices.Clone(p.Environ), func(v string) bool { return strings.HasPrefix(v, "OPENAI_BASE_URL=") })
	alone, err := Open(s.Home, p)
	if err != nil {
		return err
	}
	return alone.CheckURL()
}

// Accept accepts what cycles refuse or do not apply and [Setup.AcceptServer] is not
// for; it says in words what that is.
func (s *Setup) Accept() (accepted []string, err error) {
	k := s.keeper(s.Hidden())
	vouched, err := k.Vouch()
	for _, v := range vouched {
		accepted = append(accepted, v.String())
	}
	if err != nil {
		return accepted, err
	}
	if to := s.Config.Telemetry.OTLP; to != "" && telemetry.Accept(s.Home, to) {
		accepted = append(accepted, "telemetry.otlp as rouse.yaml has it")
	}
	f := s.found()
	f.Servers = nil
	for _, changed := range s.known().Check(f) {
		set := f.SetBaseURL
		switch {
		case changed.Fallback:
			set = f.SetFallback
		case changed.Notebook:
			set = f.SetNotebook
		}
		if err := trust.Accept(s.Home, disk.OS{}, set); err != nil {
			return accepted, err
		}
		accepted = append(accepted, changed.What)
	}
	return accepted, nil
}

// AcceptServer accepts what starts an MCP server, and says whether that is not
// what it was. Its tools are accepted by [mcp.Servers.Accept].
func (s *Setup) AcceptServer(server mcp.Server) (changed bool, err error) {
	changed = s.known().CheckServer(trusted(server)) != nil
	return changed, trust.Accept(s.Home, disk.OS{}, func(t *journal.Trust) {
		t.Set(server.Name, journal.TrustedServer{Command: server.Source})
	})
}

// StartServers starts the MCP servers that c names, which are some of
// [Setup.Servers], outside of a cycle. They live no longer than ctx. One that is
// another program than the home relied on is not started; what tools are accepted
// is put down for the next cycle.
func (s *Setup) StartServers(ctx context.Context, c mcp.Config) *mcp.Servers {
	k := s.known()
	c.Servers = slices.Clone(c.Servers)
	_, walled := s.Walls()
	for i, server := range c.Servers {
		if walled != nil {
			c.Servers[i].Problem = walled.Error()
		} else if changed := k.CheckServer(trusted(server)); changed != nil {
			c.Servers[i].Problem = changed.Error()
		}
	}
	o := s.serverOptions()
	o.Known = k.Tools
	o.Accepted = func(server, list string) {
		// Without it the next cycle takes the server for one that it never saw.
		_ = k.Accept(s.Home, disk.OS{}, server, list)
	}
	return mcp.Start(ctx, c, o)
}

// addDistrust says what is off or refused until a person accepts it.
func (s *Setup) addDistrust(st *Standing, newest string) error {
	if _, err := s.Servers(); err != nil {
		return err
	}
	k, f := s.knownBy(newest), s.found()
	for _, changed := range k.Check(f) {
		st.problem(changed)
	}
	for _, skill := range s.skills(k.Skills(), false) {
		st.problem(skill.off)
	}
	if len(f.Servers) == 0 {
		return nil
	}
	lists, err := mcp.AcceptedLists(s.Home.ServerPins())
	for _, server := range f.Servers {
		if was := k.Tools(server.Name); len(was) > 0 && !slices.Contains(was, lists[server.Name]) {
			st.problem(fmt.Errorf("the tools of the MCP server %s are off, as what was accepted is gone from .mcp.lock.json or was changed there; look at them and run rouse mcp accept %[1]s", server.Name))
		}
	}
	return err
}
