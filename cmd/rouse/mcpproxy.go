package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"rouse/internal/disk"
	"rouse/internal/loopback"
	"rouse/internal/proc"
	"rouse/proxy"
	"rouse/setup"
	"rouse/tools"
	"rouse/tools/mcp"
)

// tokenName is the variable that holds the token of clients over HTTP.
const tokenName = "ROUSE_PROXY_TOKEN"

type proxyOptions struct {
	name, listen, url string
	headers           []string // name=variable
}

func (a *app) newMCPProxy() *cobra.Command {
	var o proxyOptions
	c := &cobra.Command{
		Use:   "proxy [-- COMMAND [ARG...]]",
		Short: "Stand between an MCP client and an MCP server",
		Long: `Be the server that COMMAND starts, or that --url names, to any MCP client: with a
parameter for notes in each tool, and with large results kept in the home and read in
parts. In the client's configuration, put «rouse mcp proxy --home HOME --» before the
command of a server.

The client is the one at standard input and output, or with --listen any number over
streamable HTTP. An address that is not on loopback needs a token in ` + tokenName + `.

Exit codes: 0 the client has gone, 1 the server failed, 2 usage, 130 and 143 ended by a signal.`,
		Example: `  rouse mcp proxy --home ~/agent --name files -- npx -y @modelcontextprotocol/server-filesystem ~/papers
  rouse mcp proxy --url https://tracker.example/mcp --header Authorization=TRACKER_AUTH
  rouse mcp proxy --listen 127.0.0.1:8080 -- my-server --stdio`,
		Args: cobra.ArbitraryArgs,
		RunE: in(a.open, func(s *setup.Setup, command []string) error { return a.proxy(s, o, command) }),
	}
	c.Flags().StringVar(&o.name, "name", "", "what the notes' file is called (default after the server)")
	c.Flags().StringVar(&o.listen, "listen", "", "serve streamable HTTP at this address, such as 127.0.0.1:8080")
	c.Flags().StringVar(&o.url, "url", "", "the server is at this address")
	c.Flags().StringArrayVar(&o.headers, "header", nil, "NAME=VARIABLE: send the server this header, with the variable's value")
	return c
}

// proxy runs the proxy until its client has gone.
func (a *app) proxy(s *setup.Setup, o proxyOptions, command []string) error {
	p, err := a.newProxy(s, o, command)
	if err != nil {
		return usage(err)
	}
	place := &proxy.Place{Dir: s.Home.Memory(), ID: p.Notes.Session, Options: s.Observations()}
	p.Turn, p.Threshold = sync.OnceValues(place.Open), int(s.Config.Observations.Threshold)
	defer place.Close()
	ctx, stop := untilSignal() // but not by SIGPIPE: a client that goes would end us before the server
	defer stop()
	if o.listen == "" {
		err = p.Serve(ctx, os.Stdin, a.stdout)
	} else {
		err = a.listen(ctx, o.listen, p)
	}
	stop()
	err = errors.Join(err, p.Close())
	return cmp.Or(ended(ctx), err)
}

// newProxy wires a proxy.
func (a *app) newProxy(s *setup.Setup, o proxyOptions, command []string) (*proxy.Proxy, error) {
	for _, h := range o.headers {
		_, variable, _ := strings.Cut(h, "=")
		s.Hide(map[string]string{variable: a.getenv(variable)})
	}
	hide := s.Hidden()
	walls, err := s.Walls()
	if err != nil {
		return nil, err
	}
	p := &proxy.Proxy{
		Box:     walls.Server(mcp.Server{Dir: "."}),
		Command: command, Mode: tools.NoteMode(s.Config.Conversation.TaskScratchpad), Redact: hide, Token: a.getenv(tokenName), Stderr: a.stderr,
		Runner: &proc.Runner{Env: slices.DeleteFunc(slices.Clone(a.process().Alone().Environ), func(e string) bool { return strings.HasPrefix(e, tokenName+"=") })},
	}
	if (len(command) > 0) == (o.url != "") {
		return nil, errors.New("give either --url or, after --, the command of a server")
	}
	name := ""
	if o.url != "" {
		if p.URL, p.Header, err = a.remote(o); err != nil {
			return nil, err
		}
		name = p.URL.Hostname()
	} else {
		name = filepath.Base(command[0])
	}
	name = cmp.Or(o.name, regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(name, "-"))
	if !tools.ValidName(name) {
		return nil, fmt.Errorf("--name %q: a name has letters, digits, _ and -, at most 64", name)
	}
	session := "proxy_" + a.now().Format("20060102_150405") + "_" + rand.Text()[:6] // also names its turn in the store of observations
	p.Notes = proxy.Log{FS: disk.OS{}, Path: s.Home.ProxyLog(name), Session: session, Redact: hide, Now: a.now}
	if err := checkListen(o.listen, p.Token); err != nil {
		return nil, err
	}
	return p, s.Home.MakeFolders(disk.OS{})
}

// remote is the address of a server, and what is sent to it with each request.
func (a *app) remote(o proxyOptions) (*url.URL, http.Header, error) {
	u, err := url.Parse(o.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, errors.New("--url is no http or https address")
	}
	headers := http.Header{}
	for _, h := range o.headers {
		name, variable, ok := strings.Cut(h, "=")
		value := a.getenv(variable)
		if !ok || value == "" {
			return nil, nil, fmt.Errorf("--header %s: write NAME=VARIABLE, the name of a variable that is set", h)
		}
		headers.Set(name, value)
	}
	return u, headers, nil
}

// checkListen refuses to serve whoever can reach this machine.
func checkListen(addr, token string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--listen %s: write HOST:PORT, such as 127.0.0.1:8080", addr)
	}
	if loopback.Is(host) || token != "" {
		return nil
	}
	return fmt.Errorf("--listen %s is not on loopback: set %s, a token that clients must send", addr, tokenName)
}

// listen serves clients over HTTP until ctx ends.
func (a *app) listen(ctx context.Context, addr string, p *proxy.Proxy) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return usage(fmt.Errorf("--listen: %w", err))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &http.Server{Handler: p.Handler(ctx), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { s.Close() })
	fmt.Fprintf(a.stderr, "rouse: listening on http://%s/mcp\n", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
