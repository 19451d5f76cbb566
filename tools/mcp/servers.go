package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/sandbox"
	"rouse/internal/text"
	"rouse/tools"
)

// Options say how servers are run. Runner and Pins are required.
type Options struct {
	// Runner starts the servers, with its environment and their own.
	Runner *proc.Runner
	// Box, unless nil, gives what confines a server; nil is nothing.
	Box func(Server) *sandbox.Box
	// Started, unless nil, is told of each process that is started.
	Started func(proc.Identity)
	// Pins is the file that keeps which tools were accepted.
	Pins string
	// Known gives the hashes of the lists of a server's tools that were accepted as
	// far as others than Pins know, none for one that was never seen: tools of a
	// list that they do not know are off. Accepted is told which list holds.
	Known    func(server string) []string
	Accepted func(server, list string)
	// FS writes it; default the disk.
	FS disk.FS
	// StartLimit is the time limit of a server's start, its list of tools
	// included; default 30 s.
	StartLimit time.Duration
	// CallLimit is the time limit of a call to a server that has none of its
	// own; default 2 minutes.
	CallLimit time.Duration
	// Grace is how long a server may take to end once its input is closed; then
	// it is ended. Default 2 s.
	Grace time.Duration
	// MaxMessage is the size of the largest answer, in bytes; default 32 MiB.
	MaxMessage int64
	// Logins, unless nil, keeps what logins at servers gave.
	Logins *Logins
	// Now tells the time; nil is time.Now.
	Now func() time.Time
	// Version is how Rouse introduces itself.
	Version string
	// Redact takes the secrets out of what servers list and say of themselves; those
	// of the configuration are added to it for messages of ours.
	Redact *redact.Redactor
}

func (o Options) complete() Options {
	o.StartLimit = cmp.Or(o.StartLimit, 30*time.Second)
	o.CallLimit = cmp.Or(o.CallLimit, 2*time.Minute)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, 32<<20)
	o.FS = disk.Or(o.FS)
	if o.Box == nil {
		o.Box = func(Server) *sandbox.Box { return nil }
	}
	if o.Known == nil {
		o.Known = func(string) []string { return nil }
	}
	if o.Accepted == nil {
		o.Accepted = func(string, string) {}
	}
	return o
}

// Servers are the servers of a home, running. The zero value has none.
type Servers struct {
	list []*server
	pins *pins

	// What Start has found out.
	problems []string
	waiting  []string // those of them that the operator has to decide
	news     []string
}

// State says whether a tool is on.
type State string

// The states of a tool.
const (
	On      State = "on"
	New     State = "new"     // off: it was not there when the server was accepted
	Changed State = "changed" // off: it is not what was accepted
)

// Offer is a tool that a server offers, on or off.
type Offer struct {
	Name        string `json:"name"` // the name that models see
	Server      string `json:"server"`
	Tool        string `json:"tool"` // the server's own name for it
	State       State  `json:"state"`
	Description string `json:"description"`
}

// Start starts all servers of c side by side and returns when each is ready or
// has failed; that is at most the start limit. It starts nothing if there is
// none. Servers live until Close or the end of ctx. A server that is seen for
// the first time has its tools accepted as they are.
func Start(ctx context.Context, c Config, o Options) *Servers {
	o = o.complete()
	s := &Servers{pins: &pins{fs: o.FS, path: o.Pins}}
	hide := o.Redact.And(c.private())
	var wg sync.WaitGroup
	for _, entry := range c.Servers {
		if entry.Disabled {
			continue
		}
		srv := &server{Server: entry, o: o, ctx: ctx, hide: hide, box: o.Box(entry)}
		if entry.URL != "" && o.Logins != nil && !entry.authorized() {
			srv.keys = &keys{server: entry.Name, url: entry.URL, logins: o.Logins, now: o.Now}
		}
		s.list = append(s.list, srv)
		wg.Go(srv.begin)
	}
	wg.Wait()
	for _, srv := range s.list {
		s.admit(srv)
	}
	return s
}

// private are all values that our own messages do not show.
func (c Config) private() map[string]string {
	values := c.Secrets()
	for _, s := range c.Servers {
		for name, value := range s.Env {
			values["mcp:"+s.Name+":"+name] = value
		}
		if s.URL != "" {
			values["mcp:"+s.Name+":url"] = s.URL
		}
	}
	return values
}

func (s *server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := error(nil)
	if s.Problem != "" {
		err = errors.New(s.Problem)
		s.starts = restarts
	} else {
		_, _ = s.keys.token(s.ctx, "") // why there is none is met again
		s.o.Redact = s.keys.hide(s.o.Redact)
		err = s.connect(s.ctx)
	}
	if err != nil {
		s.problems = append(s.problems, "it has no tools now: "+err.Error())
	}
}

// admit compares what a server offers with what was accepted.
func (s *Servers) admit(srv *server) {
	for _, p := range srv.problems {
		s.problem(srv.Name, p)
	}
	if srv.login {
		s.waiting = append(s.waiting, s.problems[len(s.problems)-1])
	}
	if srv.link == nil {
		return
	}
	if missing := srv.missing(); len(missing) > 0 {
		s.problem(srv.Name, "it has no tool "+strings.Join(missing, ", ")+", which include in .mcp.json names")
	}
	accepted, seen, err := s.pins.get(srv.Name)
	known := srv.o.Known(srv.Name)
	if err == nil && len(known) > 0 && (!seen || !slices.Contains(known, listHash(accepted))) {
		s.problem(srv.Name, fmt.Sprintf("its tools are off until the operator has looked at them and runs «rouse mcp accept %s»: "+
			"what was accepted is gone from .mcp.lock.json, or was changed there by another hand", srv.Name))
		s.waiting = append(s.waiting, s.problems[len(s.problems)-1])
		return
	}
	if err == nil && !seen {
		accepted = srv.hashes()
		err = s.pins.set(srv.Name, accepted, false)
		s.news = append(s.news, fmt.Sprintf("mcp %s: seen for the first time; its %d tools are accepted as they are", quoted(srv.Name), len(srv.offered)))
	}
	if err != nil {
		s.problem(srv.Name, "its tools are off: "+text.Words(err.Error()))
		return
	}
	srv.accepted = accepted
	srv.o.Accepted(srv.Name, listHash(accepted))
	var off []string
	for _, o := range s.offers(srv) {
		if o.State != On {
			off = append(off, fmt.Sprintf("%s (%s)", quoted(o.Tool), o.State))
		}
	}
	if len(off) > 0 {
		s.problem(srv.Name, fmt.Sprintf("not what was accepted, and off until the operator has looked at it and runs «rouse mcp accept %s»: %s",
			srv.Name, strings.Join(off[:min(len(off), 20)], ", ")))
		s.waiting = append(s.waiting, s.problems[len(s.problems)-1])
	}
}

// Waiting are those of the problems that only the operator can decide.
func (s *Servers) Waiting() []string { return slices.Clone(s.waiting) }

func (s *Servers) problem(server, text string) {
	s.problems = append(s.problems, problemOf(server)+text)
}

// problemOf begins a problem of a server.
func problemOf(server string) string { return "mcp " + quoted(server) + ": " }

// hashes are those of the tools, by their names without secrets.
func (s *server) hashes() map[string]string {
	m := make(map[string]string, len(s.offered))
	for _, t := range s.offered {
		m[s.o.Redact.String(t.Name)] = t.hash()
	}
	return m
}

// wanted are the tools that the operator wants of those that a server offers.
func (s *server) wanted() (list []rawTool) {
	for _, t := range s.offered {
		if s.wants(t.Name) {
			list = append(list, t)
		}
	}
	return list
}

// missing says which tools the operator wants that are not there.
func (s *server) missing() (list []string) {
	for _, pattern := range s.Include {
		one := Server{Include: []string{pattern}}
		if !slices.ContainsFunc(s.offered, func(t rawTool) bool { return one.wants(t.Name) }) {
			list = append(list, quoted(pattern))
		}
	}
	return list
}

// offers are a server's tools with their states, by what was accepted when it
// started: it can write the file itself since.
func (s *Servers) offers(srv *server) []Offer {
	var list []Offer
	for _, t := range srv.wanted() {
		seen := t.hidden(srv.o.Redact)
		o := Offer{Server: srv.Name, Tool: seen.Name, Name: toolName(srv.Name, seen.Name), Description: seen.description(), State: On}
		if hash, ok := srv.accepted[seen.Name]; !ok && srv.accepted != nil {
			o.State = New
		} else if hash != t.hash() {
			o.State = Changed
		}
		list = append(list, o)
	}
	return list
}

// Offers are all tools of all servers that run, those that are off included.
func (s *Servers) Offers() []Offer {
	var list []Offer
	for _, srv := range s.list {
		srv.mu.Lock()
		list = append(list, s.offers(srv)...)
		srv.mu.Unlock()
	}
	return list
}

// Tools are the tools that are on. Their names are server__tool, in the
// characters and the length that models take; of two with one name the first is
// given. None is read-only, whatever its server says.
func (s *Servers) Tools() []tools.Tool {
	var list []tools.Tool
	seen := map[string]bool{}
	for _, srv := range s.list {
		srv.mu.Lock()
		offered := srv.wanted()
		states := s.offers(srv)
		srv.mu.Unlock()
		for i, o := range states {
			if o.State == On && !seen[o.Name] {
				list = append(list, srv.tool(o, offered[i]))
				seen[o.Name] = true
			}
		}
	}
	return list
}

func (s *server) tool(o Offer, t rawTool) tools.Tool {
	return tools.Tool{
		Name: o.Name, Source: "mcp " + s.Name, Description: o.Description, Schema: anyObject, Raw: t.hidden(s.o.Redact).parameters(),
		Effect: s.Effect, Reads: s.Reads,
		Run: func(ctx context.Context, call tools.Call) tools.Result { return s.call(ctx, t, call) },
	}
}

// Unread are the origins of servers whose tools are on as they were when they were first
// seen: nobody has looked at what they say of themselves. So it is with those whose words
// are in the problems.
func (s *Servers) Unread() (from []string) {
	f, err := s.pins.load()
	for _, srv := range s.list {
		said := srv.heard && slices.ContainsFunc(s.problems, func(p string) bool { return strings.HasPrefix(p, problemOf(srv.Name)) })
		if said || srv.accepted != nil && (err != nil || f.Looked[srv.Name] != listHash(srv.accepted)) {
			from = append(from, "mcp "+srv.Name)
		}
	}
	return from
}

// Problems say, one line each, which servers and tools are missing, why, and
// how to mend it.
func (s *Servers) Problems() []string { return slices.Clone(s.problems) }

// News are what the operator should know although nothing is wrong: servers
// that were seen for the first time.
func (s *Servers) News() []string { return slices.Clone(s.news) }

// Accept accepts the tools of a server as it offers them now, and gives them
// with the state that they had until then.
func (s *Servers) Accept(name string) ([]Offer, error) {
	for _, srv := range s.list {
		if srv.Name != name {
			continue
		}
		srv.mu.Lock()
		defer srv.mu.Unlock()
		if srv.link == nil {
			return nil, fmt.Errorf("accept %s: the server does not run", quoted(name))
		}
		before := s.offers(srv)
		accepted := srv.hashes()
		if err := s.pins.set(name, accepted, true); err != nil {
			return nil, fmt.Errorf("accept %s: %w", quoted(name), err)
		}
		srv.accepted = accepted
		srv.o.Accepted(name, listHash(accepted))
		return before, nil
	}
	return nil, fmt.Errorf("accept %s: there is no such server", quoted(name))
}

// Close ends all servers with their whole process trees, side by side. It takes
// a few seconds where they do not end by themselves.
func (s *Servers) Close() {
	var wg sync.WaitGroup
	for _, srv := range s.list {
		wg.Go(srv.close)
	}
	wg.Wait()
}
