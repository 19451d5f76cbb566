package setup

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"rouse/internal/text"
	"rouse/internal/vault"
	"rouse/tools/mcp"
)

// LoginName is the connection in the vault that has the login of a server.
func LoginName(server string) string {
	return "mcp/" + strings.TrimSuffix(mcp.Prefix(server), mcp.Separator)
}

// logins are those of the home, in its vault.
func (s *Setup) logins() *mcp.Logins {
	v := Vault(s.Home, s.Process)
	return &mcp.Logins{
		Load: func(server string) (mcp.Login, error) {
			c, err := v.Load()
			return c[LoginName(server)], err
		},
		Change: func(server string, f func(mcp.Login) (mcp.Login, error)) error {
			// What is renewed is lost where it cannot be written: then the old one is not spent.
			if err := v.Change(func(vault.Connections) error { return nil }); err != nil {
				return err
			}
			return v.Change(func(c vault.Connections) error {
				l, err := f(c[LoginName(server)])
				if err != nil {
					return err
				}
				l = maps.Clone(l)
				maps.DeleteFunc(l, func(_, value string) bool { return value == "" })
				delete(c, LoginName(server))
				return c.Set(LoginName(server), l)
			})
		},
	}
}

// LogIn has a person log in at a server of the home, keeps what came of it, and says it.
func (s *Setup) LogIn(ctx context.Context, server mcp.Server, visit mcp.Visit) (said string, err error) {
	if err := s.known().CheckServer(trusted(server)); err != nil {
		return "", err
	}
	login, tools, err := mcp.LogIn(ctx, server, s.serverOptions(), visit)
	s.Hide(map[string]string{"mcp:access": login["access_token"], "mcp:refresh": login["refresh_token"], "mcp:secret": login["client_secret"]})
	said = "logged in at %s: %s\n"
	if login == nil {
		said = "no login is wanted at %s: %s\n"
	} else if err == nil {
		err = s.logins().Change(server.Name, func(mcp.Login) (mcp.Login, error) { return login, nil })
	}
	if err != nil {
		return "", fmt.Errorf("log in at %s: %w", text.Line(server.Name, 40), err)
	}
	return fmt.Sprintf(said, text.Line(server.Name, 40), text.Count(tools, "tool")), nil
}
