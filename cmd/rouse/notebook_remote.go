package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"rouse/agent/config"
	"rouse/internal/loopback"
	"rouse/setup"
	"rouse/tools/notebook/remote"
)

func (a *app) newNotebookRemote() *cobra.Command {
	tokenEnv := notebookToken
	c := &cobra.Command{
		Use:   "remote URL",
		Short: "Have notebooks run by a server",
		Long: `Ask the server at URL who it is, with the token in $ROUSE_NOTEBOOK_TOKEN, and if it answers
well write it into rouse.yaml, where comments and all else stay: from then on the agent's
notebooks run there.

Exit codes: 0, 1 if the server does not answer as it should, 2 usage or configuration.`,
		Example: "  rouse notebook remote https://notebooks.example",
		Args:    cobra.ExactArgs(1),
		RunE:    in(a.open, func(s *setup.Setup, args []string) error { return a.useRemote(s, args[0], tokenEnv) }),
	}
	c.Flags().StringVar(&tokenEnv, "token-env", tokenEnv, "the variable that holds the token")
	return c
}

func (a *app) useRemote(s *setup.Setup, endpoint, tokenEnv string) error {
	h := s.Home
	text, err := os.ReadFile(h.Config())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usage(err)
	}
	changed, err := config.SetRemote(text, endpoint, tokenEnv)
	if err != nil {
		return usage(err)
	}
	if a.getenv(tokenEnv) == "" {
		return usage(fmt.Errorf("there is no token in $%s", tokenEnv))
	}
	client := &remote.Client{Endpoint: endpoint, Token: a.getenv(tokenEnv), TokenName: "the token in $" + tokenEnv}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found, err := client.Check(ctx)
	if err != nil {
		return fmt.Errorf("notebook remote: %w", err)
	}
	fmt.Fprintf(a.stdout, "%s: rouse %s, tenant %s\n", found.Endpoint, found.Version, found.Tenant)
	if u, err := url.Parse(endpoint); err == nil && u.Scheme == "http" && !loopback.Is(u.Hostname()) {
		fmt.Fprintf(a.stderr, "rouse: %s is not https: the token, code and data can be read on the way\n", endpoint)
	}
	if err := s.WriteConfig(changed); err != nil {
		return fmt.Errorf("write rouse.yaml: %w", err)
	}
	if err := s.AcceptEndpoint(endpoint, tokenEnv); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "written into rouse.yaml; back again with notebook.backend: local")
	return nil
}
