package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"rouse/internal/disk"
	"rouse/internal/loopback"
	"rouse/setup"
	"rouse/tools/notebook/serve"
)

// notebookToken names the variable of a token, unless another is named.
const notebookToken = "ROUSE_NOTEBOOK_TOKEN"

type serveOptions struct {
	listen, cert, key, tokens string
	insecure                  bool
	keep                      time.Duration
}

func (a *app) newNotebookServe() *cobra.Command {
	o := serveOptions{listen: "127.0.0.1:7333"}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run notebooks for others, over HTTP",
		Long: `Run notebooks for agents on other machines, in the foreground. The home's rouse.yaml
bounds them, under notebook and tools.max_output. Clients have a bearer token: that in
$ROUSE_NOTEBOOK_TOKEN, or several in a file with lines of a tenant's name and its token. A
tenant sees only its own notebooks. See docs/notebooks-remote.md.

Exit codes: 0, 1 if it cannot listen, 2 usage or configuration, 130 or 143 a signal ended it,
after the variables were saved.`,
		Example: `  rouse notebook serve
  rouse notebook serve --listen :7333 --cert cert.pem --key key.pem --tokens tokens.txt`,
		RunE: in(a.open, func(home *setup.Setup, _ []string) error { return a.serveNotebooks(home, o) }),
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", o.listen, "address and port; without TLS only a loopback one")
	f.StringVar(&o.cert, "cert", "", "certificate for TLS, PEM")
	f.StringVar(&o.key, "key", "", "key of the certificate, PEM")
	f.StringVar(&o.tokens, "tokens", "", "file of tenants and tokens, readable by you only")
	f.BoolVar(&o.insecure, "insecure", false, "listen beyond loopback without TLS: tokens, code and data can be read on the way")
	f.DurationVar(&o.keep, "keep", 30*time.Minute, "how long a notebook that nobody uses stays open")
	return c
}

func (o serveOptions) check() error {
	host, _, err := net.SplitHostPort(o.listen)
	switch {
	case err != nil:
		return fmt.Errorf("--listen %.100q: use an address and a port, such as 127.0.0.1:7333", o.listen)
	case (o.cert == "") != (o.key == ""):
		return errors.New("--cert and --key go together")
	case o.cert == "" && !o.insecure && !loopback.Is(host):
		return fmt.Errorf("--listen %.100q is not a loopback address: give --cert and --key, or --insecure behind something that does TLS", o.listen)
	case o.keep <= 0:
		return errors.New("--keep must be above 0")
	}
	return nil
}

// tokens are those of the file, or the one in the environment.
func (a *app) tokens(path string) (map[string]string, error) {
	if path == "" {
		token := a.getenv(notebookToken)
		if token == "" {
			return nil, fmt.Errorf("there is no token: put one into $%s, such as that of openssl rand -hex 32, or name a file with --tokens", notebookToken)
		}
		return map[string]string{"default": token}, nil
	}
	return serve.ReadTokens(path)
}

func (a *app) serveNotebooks(home *setup.Setup, o serveOptions) error {
	_, err := home.Walls()
	if err := cmp.Or(o.check(), err); err != nil {
		return usage(err)
	}
	s := &serve.Server{Dir: home.Home.Served(), FS: disk.OS{}, Version: version(), Keep: o.keep}
	if s.Tokens, err = a.tokens(o.tokens); err == nil {
		err = s.Check()
	}
	if err != nil {
		return usage(err)
	}
	s.Open = home.OpenServed
	unlock, err := s.Lock()
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer unlock()
	return a.listenNotebooks(s, o)
}

// listenNotebooks serves until a signal comes.
func (a *app) listenNotebooks(s *serve.Server, o serveOptions) error {
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer l.Close()
	scheme := "http"
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return usage(fmt.Errorf("--cert, --key: %w", err))
		}
		scheme, l = "https", tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	fmt.Fprintf(a.stdout, "serving notebooks at %s://%s\n", scheme, l.Addr())
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	ctx, stop := untilSignal()
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(l) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), setup.NotebookPatience)
	defer cancel()
	err = errors.Join(err, s.Close(closing), web.Close())
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return ended(ctx)
}
