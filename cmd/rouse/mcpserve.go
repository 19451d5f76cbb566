package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"rouse/desk"
	"rouse/internal/loopback"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/proxy"
	"rouse/setup"
	"rouse/tools"
)

func (a *app) newMCPServe() *cobra.Command {
	var listen, role string
	c := &cobra.Command{
		Use:   "serve [HOME]",
		Short: "Be an MCP server, by which other agents give tasks and see what became of them",
		Long: `Be an MCP server for one home, to the client at standard input and output: report, cycles, diff,
search, observations, approvals, and with --role act also tell and answer. With --listen,
to any number of clients over streamable HTTP on this machine, which send the token in
` + tokenName + `.

Exit codes: 0 the client has gone, 1 it cannot listen, 2 usage or configuration, 130 and 143 ended by a signal.`,
		Example: `  claude mcp add night -- rouse mcp serve ~/agent --role act
  ROUSE_PROXY_TOKEN=$(cat token) rouse mcp serve ~/agent --listen 127.0.0.1:7374`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.home = cmp.Or(strings.Join(args, ""), a.home)
			s, err := a.open()
			if err == nil && role != "view" && role != "act" {
				err = usage(fmt.Errorf("--role %.40q: use view or act", role))
			}
			if err != nil {
				return err
			}
			ctx, stop := untilSignal()
			defer stop()
			return a.serveMCP(ctx, s, listen, role)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "serve streamable HTTP at this address of this machine, such as 127.0.0.1:7374")
	c.Flags().StringVar(&role, "role", "view", "view, or act: also give tasks and answer approvals")
	return c
}

// serveMCP serves until the client has gone, or a signal comes. Over HTTP each client has a
// server of its own, which is this program again.
func (a *app) serveMCP(ctx context.Context, s *setup.Setup, listen, role string) error {
	if listen == "" {
		d := desk.Desk{Version: version(), Run: a.verb, Hide: a.hide, Act: role == "act"}
		return cmp.Or(d.Serve(ctx), ended(ctx))
	}
	program, err := os.Executable()
	p := &proxy.Proxy{
		Plain: true, Command: []string{program, "mcp", "serve", "--home", s.Home.Dir, "--role", role}, Runner: &proc.Runner{Env: a.process().Alone().Environ},
		Mode: tools.NoteOff, Redact: s.Hidden(), Token: a.getenv(tokenName), Stderr: a.stderr,
	}
	if host, _, err := net.SplitHostPort(listen); err != nil || !loopback.Is(host) || len(p.Token) < 24 {
		return usage(fmt.Errorf("--listen takes an address of this machine, such as 127.0.0.1:7374, and a token of 24 characters or more that clients must send: put that of openssl rand -hex 32 into $%s", tokenName))
	}
	err = cmp.Or(err, errors.Join(a.listen(ctx, listen, p), p.Close()))
	return cmp.Or(ended(ctx), err)
}

// verb runs another verb of the same home, and gives what it prints, and why it failed.
func (a *app) verb(args ...string) ([]byte, string) {
	var out, wrong bytes.Buffer
	b := a.anew()
	b.stdout, b.stderr = text.Capped(&out, 16<<20), text.Capped(&wrong, maxMessage)
	if b.main(append([]string{"--home", a.setup.Home.Dir}, args...)) == 0 {
		return out.Bytes(), ""
	}
	return out.Bytes(), strings.TrimPrefix(strings.TrimSpace(wrong.String()), "rouse: ")
}

// hide takes out the secrets that the home has by now.
func (a *app) hide(value any) any {
	b := a.anew()
	b.home = a.setup.Home.Dir
	s, err := b.open()
	if err != nil {
		s = a.setup
	}
	return s.Hidden().Any(value)
}

// anew is the process as it was before it opened a home.
func (a *app) anew() *app {
	return &app{hidden: a.hidden, environ: a.process().Alone().Environ, now: a.now}
}
