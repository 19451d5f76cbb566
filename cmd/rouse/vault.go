package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rouse/home"
	"rouse/internal/vault"
	"rouse/setup"
)

func (a *app) newVault() *cobra.Command {
	c := &cobra.Command{
		Use:   "vault",
		Short: "Keep credentials, encrypted, for notebooks",
		Long: `The vault keeps connections to databases and services: vault.age in the home, encrypted
with the key in vault.key, or in $ROUSE_VAULT_KEY. Cells see those that rouse.yaml
grants under notebook.credentials, as variables such as DS_POSTGRES_PROD_DB__HOST.

Exit codes: 0, 1 if the vault cannot be read or written, 2 usage.`,
	}
	c.AddCommand(a.newVaultSet(), a.newVaultList(), a.newVaultRemove())
	return c
}

func (a *app) newVaultSet() *cobra.Command {
	return &cobra.Command{
		Use:   "set ENGINE/NAME FIELD=VALUE...",
		Short: "Set fields of a connection",
		Long: `Set fields of a connection; its other fields stay. What stands in a command line can be
seen by others while it runs: with - as its value one field is read from standard input,
without a line break at its end. The first call makes the key.

Exit codes: 0, 1 if the vault cannot be read or written, 2 usage.`,
		Example: `  rouse vault set postgres/PROD_DB host=db.example user=reader password=- < password.txt`,
		Args:    cobra.MinimumNArgs(2),
		RunE:    in(a.openWhole, func(h home.Home, args []string) error { return a.vaultSet(h, args[0], args[1:], os.Stdin) }),
	}
}

func (a *app) vaultSet(h home.Home, name string, args []string, stdin io.Reader) error {
	fields := map[string]string{}
	asked := ""
	for _, arg := range args {
		field, value, ok := strings.Cut(arg, "=")
		switch _, twice := fields[field]; {
		case !ok:
			return usage(errors.New("vault set: write each field as FIELD=VALUE")) // it may be a value
		case twice:
			return usage(fmt.Errorf("vault set: field %.70q comes twice", field))
		case value == "-" && asked != "":
			return usage(errors.New("vault set: only one field can be read from standard input"))
		case value == "-":
			asked = field
		}
		fields[field] = value
	}
	if asked != "" {
		value, err := a.readValue(asked, stdin)
		if err != nil {
			return fmt.Errorf("vault set: read %s: %w", asked, err)
		}
		fields[asked] = value
	}
	return setup.Vault(h, a.process()).Change(func(c vault.Connections) error { return usage(c.Set(name, fields)) })
}

// readValue reads a value, on a terminal without showing it.
func (a *app) readValue(field string, stdin io.Reader) (string, error) {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(a.stderr, "%s: ", field)
		value, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.stderr)
		return string(value), err
	}
	data, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), err
}

func (a *app) newVaultList() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "list",
		Short: "List the connections and their fields, never a value",
		Long: `List the connections with the names of their fields, and which ones rouse.yaml grants to
notebooks. No value is shown.

Exit codes: 0, 1 if the vault cannot be read, 2 usage or configuration.`,
		RunE: in(a.open, a.vaultList),
	})
}

// connection is one as --json has it.
type connection struct {
	Name    string   `json:"name"`
	Fields  []string `json:"fields"`
	Granted bool     `json:"granted"`
}

func (a *app) vaultList(s *setup.Setup, _ []string) error {
	connections, err := setup.Vault(s.Home, s.Process).Load()
	if err != nil {
		return err
	}
	var list []connection
	for _, name := range slices.Sorted(maps.Keys(connections)) {
		fields := slices.Sorted(maps.Keys(connections[name]))
		list = append(list, connection{name, fields, slices.Contains(s.Config.Notebook.Credentials, name)})
	}
	return printList(a, list, "no connections in the vault yet; add one with: rouse vault set ENGINE/NAME FIELD=VALUE", func(c connection) string {
		granted := map[bool]string{true: "granted"}[c.Granted]
		return fmt.Sprintf("%-30s  %-7s  %s", c.Name, cmp.Or(granted, "-"), strings.Join(c.Fields, ", "))
	})
}

func (a *app) newVaultRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "rm ENGINE/NAME",
		Short: "Remove a connection",
		Long: `Remove a connection with all its fields. Whoever has an older copy of the vault and its
key still has them: change the password at its source, too.

Exit codes: 0, 1 if there is no such connection or the vault cannot be written, 2 usage.`,
		Example: "  rouse vault rm postgres/PROD_DB",
		Args:    cobra.ExactArgs(1),
		RunE:    in(a.openWhole, a.vaultRemove),
	}
}

func (a *app) vaultRemove(h home.Home, args []string) error {
	name := args[0]
	return setup.Vault(h, a.process()).Change(func(c vault.Connections) error {
		if _, ok := c[name]; !ok {
			return fmt.Errorf("there is no connection %.140q in the vault", name)
		}
		delete(c, name)
		return nil
	})
}
