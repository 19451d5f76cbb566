package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"rouse/internal/text"
	"rouse/setup"
	"rouse/tools"
	"rouse/tools/mcp"
)

func (a *app) newMCP() *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Use the MCP servers of .mcp.json",
		Long: `MCP servers give the agent further tools. The home's .mcp.json names them, in the form
that other clients use. The tools of a server are accepted as they are when it is
seen for the first time; later ones and changed ones are off until they are accepted.

Exit codes: 0, 1 if a server or a call fails, 2 usage or a bad .mcp.json, 130 and 143
ended by a signal.`,
	}
	c.AddCommand(a.newMCPList(), a.newMCPCall(), a.newMCPAccept(), a.newMCPLogin(), a.newMCPLogout(), a.newMCPProxy(), a.newMCPServe())
	return c
}

// inServers runs a verb with the servers of the home, or the one that its first
// argument names, and says what is wrong with them.
func (a *app) inServers(run func(context.Context, *mcp.Servers, []string) error) runner {
	return in(a.open, func(home *setup.Setup, args []string) error {
		c, err := pick(home, args)
		_, walled := home.Walls()
		if err = cmp.Or(walled, err); err != nil {
			return usage(err)
		}
		ctx, stop := untilSignal(syscall.SIGPIPE)
		defer stop()
		s := home.StartServers(ctx, c)
		defer s.Close()
		for _, line := range append(s.News(), s.Problems()...) {
			fmt.Fprintln(a.stderr, "rouse:", a.redacted(line))
		}
		return interrupted(ctx, run(ctx, s, args))
	})
}

// pick gives the servers of the home, or the one that the first argument names.
func pick(home *setup.Setup, args []string) (mcp.Config, error) {
	c, err := home.Servers()
	if err == nil && len(args) > 0 {
		c, err = c.Pick(args[0])
	}
	return c, err
}

func (a *app) newMCPList() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "list",
		Short: "Start the servers and list their tools",
		Long: `List the tools of all servers: on, or off because they are new or changed.

Exit codes: 0, 1 if a server or a tool is missing, 2 a bad .mcp.json.`,
		RunE: a.inServers(a.listMCP),
	})
}

func (a *app) listMCP(_ context.Context, s *mcp.Servers, _ []string) error {
	none := "no MCP server is in .mcp.json; docs/mcp.md shows an entry"
	if len(s.Problems()) > 0 {
		none = "no server has a tool now"
	}
	err := printList(a, s.Offers(), none, func(o mcp.Offer) string {
		return fmt.Sprintf("%-40s  %-7s  %s", o.Name, o.State, text.Line(o.Description, 80))
	})
	if err == nil && len(s.Problems()) > 0 {
		err = &coded{exitFailed, nil}
	}
	return err
}

func (a *app) newMCPCall() *cobra.Command {
	return &cobra.Command{
		Use:   "call SERVER TOOL [ARGUMENTS]",
		Short: "Call a tool of a server",
		Long: `Call a tool and print what it gives. Arguments are a JSON object.

Exit codes: 0, 1 if the call fails or its outcome is unknown, 2 usage or a bad .mcp.json.`,
		Example: `  rouse mcp call files read_text_file '{"path": "notes.txt"}'`,
		Args:    cobra.RangeArgs(2, 3),
		RunE: a.inServers(func(ctx context.Context, s *mcp.Servers, args []string) error {
			args = append(args, "{}") // counts where no arguments are given
			return a.callMCP(ctx, s, args[1], json.RawMessage(args[2]))
		}),
	}
}

func (a *app) callMCP(ctx context.Context, s *mcp.Servers, name string, args json.RawMessage) error {
	t, err := s.Find(name)
	if err != nil {
		return err
	}
	if err := t.Check(args); err != nil {
		return usage(fmt.Errorf("arguments of %s: %w", t.Name, err))
	}
	out := a.redactor().Writer(shown(a.stdout))
	r := t.Run(ctx, tools.Call{Args: args, Output: out})
	if err := out.Close(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	for _, m := range r.Media {
		fmt.Fprintf(a.stdout, "[%s, %d bytes]\n", m.Type, len(m.Data))
	}
	if !r.OK {
		return errors.New(r.Error)
	}
	return nil
}

func (a *app) newMCPAccept() *cobra.Command {
	return &cobra.Command{
		Use:   "accept SERVER",
		Short: "Accept a server and its tools as they are now",
		Long: `Accept what starts a server, or its address, as .mcp.json has it now. Then start it, show the
tools that are new or changed, and accept all as they are now.

Exit codes: 0, 1 if the server does not run, 2 usage or a bad .mcp.json.`,
		Example: "  rouse mcp accept files",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := in(a.open, a.acceptServer)(c, args); err != nil {
				return err
			}
			return a.inServers(a.acceptMCP)(c, args)
		},
	}
}

// acceptServer accepts what starts a server, and says so if that is not what it was.
func (a *app) acceptServer(home *setup.Setup, args []string) error {
	c, err := pick(home, args)
	if err != nil {
		return usage(err)
	}
	s := c.Servers[0]
	changed, err := home.AcceptServer(s)
	if changed && err == nil {
		line := cmp.Or(s.URL, fmt.Sprintf("%q", append([]string{s.Command}, s.Args...)))
		line = home.Redactor().And(c.Secrets()).String(line)
		fmt.Fprintf(a.stdout, "accepted: %s is %s\n", s.Name, text.Line(line, 1000))
	}
	return err
}

func (a *app) acceptMCP(_ context.Context, s *mcp.Servers, args []string) error {
	before, err := s.Accept(args[0])
	if err != nil {
		return err
	}
	for _, o := range before {
		if o.State != mcp.On {
			fmt.Fprintf(a.stdout, "%s (%s): %s\n", text.Line(o.Tool, 60), o.State, text.Line(o.Description, 1000))
		}
	}
	fmt.Fprintf(a.stdout, "accepted: the %d tools of %s\n", len(before), args[0])
	return nil
}
