package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/tools"
)

// Box has tools that need something running, such as the servers of a home.
// It is opened when a cycle has something to do, and closed before it sleeps.
type Box struct {
	Tools []tools.Tool
	// Problems are why there are fewer tools than there could be, and Waiting is
	// what waits for a person.
	Problems, Waiting []string
	// From are the places outside that what the model is told of the tools came from.
	From []string
	// Close ends all that runs for the tools; nil is nothing.
	Close func()
}

// Host is what a cycle does for its boxes.
type Host struct {
	// Known gives the hashes of the lists of a server's tools that were accepted, as
	// far as journals and people say; none for one that was never seen. Accepted is
	// told which list holds now.
	Known    func(server string) []string
	Accepted func(server, tools string)
	// Started is told of each process, so that a later cycle can end it if this
	// one dies.
	Started func(proc.Identity)
	// Skills are those that a person accepted, by name.
	Skills map[string]journal.TrustedSkill
	// Left says that something has left the memory that can be found again.
	Left bool
	// Ask asks the model, for what purpose names, within the cycle's limits and in
	// its journal. It may be called from several goroutines.
	Ask func(ctx context.Context, purpose string, req model.Request) (model.Reply, error)
	// Tool gives a tool by its name, for a caller that calls done after.
	Tool func(ctx context.Context, name string) (t tools.Tool, done func(), err error)
}

// OpenBox opens a box, whose processes live no longer than ctx.
type OpenBox func(ctx context.Context, host Host) Box

// host is the cycle as its boxes see it.
func (c *cycle) host() Host {
	return Host{
		Left:  c.archive != "" || strings.Contains("\n"+c.state.Notes(), "\n"+foldedCalls),
		Known: c.known.Tools, Skills: c.known.Skills(),
		Accepted: func(server, tools string) {
			if c.trust.Servers[server].Tools == tools {
				return
			}
			c.trust.Set(server, journal.TrustedServer{Tools: tools})
			// Without this record a crash leaves the list to be accepted again.
			_ = c.journal.Append(&journal.Accepted{Server: server, Tools: tools})
		},
		Started: func(p proc.Identity) {
			// Without this record a crash leaves the process to the mark alone.
			_ = c.journal.Append(&journal.Started{Process: p})
		},
		Ask: func(ctx context.Context, purpose string, req model.Request) (model.Reply, error) {
			return c.aside(ctx, purpose, req)
		},
		Tool: func(_ context.Context, name string) (tools.Tool, func(), error) {
			if t, ok := c.dispatcher.Tools.Find(name); ok {
				return t, func() {}, nil
			}
			return tools.Tool{}, nil, fmt.Errorf("there is no tool %s in this cycle", name)
		},
	}
}

// unpack opens the boxes and adds their tools to those of the cycle; it gives
// what closes them again.
func (c *cycle) unpack(ctx context.Context) (pack func(), err error) {
	var open []func()
	pack = func() {
		for _, close := range slices.Backward(open) {
			close()
		}
	}
	list := c.Tools.All()
	for _, o := range c.Boxes {
		b := o(ctx, c.host())
		if b.Close != nil {
			open = append(open, b.Close)
		}
		list = append(list, b.Tools...)
		if err := c.dispatcher.Learn(0, b.From); err != nil {
			return pack, err
		}
		c.warn(b.Problems...)
		c.tellWaiting(ctx, b.Waiting)
	}
	if len(c.Boxes) == 0 {
		return pack, nil
	}
	return pack, c.offer(list)
}

// offer lets the cycle have these tools.
func (c *cycle) offer(list []tools.Tool) error {
	set, err := tools.NewSet(c.fitting(list)...)
	if err == nil {
		c.dispatcher.Tools = set
	}
	return err
}

// fitting hides the tools of others where they would take more than a quarter of each
// request: then they are found by find_tool.
func (c *cycle) fitting(list []tools.Tool) []tools.Tool {
	var others []model.Tool
	for _, t := range list {
		if t.Source != "" {
			others = append(others, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters()})
		}
	}
	if conversation.EstRequest(model.Request{Tools: others}) <= c.viewTokens()/2 {
		return list
	}
	return tools.Behind(list, cmp.Or(min(c.maxAnswer(), 16<<10), 16<<10))
}

// warn says what the operator should look at, and the model should know.
func (c *cycle) warn(problems ...string) {
	for _, text := range problems {
		// A journal that cannot be written is met again at once.
		_ = c.journal.Append(&journal.Warning{Text: text, Shown: true})
		c.remarks = append(c.remarks, text)
	}
}
