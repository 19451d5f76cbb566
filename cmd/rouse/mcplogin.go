package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/setup"
	"rouse/tools/mcp"
)

func (a *app) newMCPLogin() *cobra.Command {
	var scopes []string
	var open bool
	c := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a server by OAuth",
		Long: `Print the address at which you log in, and wait until the browser comes back to this
machine. If it runs on another one, paste here the address that it then shows. The tokens
are kept in the vault and renewed by the cycles, which never ask; a login that is over is
told like any incident, and this verb mends it.

Exit codes: 0, 1 if the login fails, 2 usage or a bad .mcp.json, 130 and 143 ended by a signal.`,
		Example: "  rouse mcp login tracker",
		Args:    cobra.ExactArgs(1),
		RunE: in(a.open, func(s *setup.Setup, args []string) error {
			c, err := pick(s, args)
			if err != nil {
				return usage(err)
			}
			ctx, stop := untilSignal()
			defer stop()
			said, err := s.LogIn(ctx, c.Servers[0], mcp.Visit{Show: a.showLogin(open), Pasted: os.Stdin, Scopes: scopes})
			fmt.Fprint(a.stdout, said)
			return interrupted(ctx, err)
		}),
	}
	c.Flags().StringSliceVar(&scopes, "scope", nil, "rights to ask for beside those that the server names")
	c.Flags().BoolVar(&open, "open", false, "open the address in a browser")
	return c
}

// showLogin shows the address of a login, and may have the desktop open it: what that starts outlives us.
func (a *app) showLogin(open bool) func(string) {
	return func(address string) {
		fmt.Fprintf(a.stderr, "Open this address and log in:\n\n%s\n\nIf the browser runs on another machine, paste the address that it shows in the end:\n", address)
		if program := map[bool]string{true: "open", false: "xdg-open"}[runtime.GOOS == "darwin"]; open {
			_, _ = os.StartProcess("/bin/sh", []string{"sh", "-c", `exec "$0" "$1" >/dev/null 2>&1`, program, address}, &os.ProcAttr{})
		}
	}
}

func (a *app) newMCPLogout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget the login at a server",
		Long: `Remove the tokens from the vault. At the server they may stay valid: revoke them there, too.

Exit codes: 0, 1 if there is no login or the vault cannot be written, 2 usage.`,
		Args: cobra.ExactArgs(1),
		RunE: in(a.openWhole, func(h home.Home, args []string) error { return a.vaultRemove(h, []string{setup.LoginName(args[0])}) }),
	}
}
