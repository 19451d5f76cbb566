// Package setup opens a home: it is where everything that a home needs is made,
// each thing once, from its configuration and from what the process was started
// with.
//
// [Open] reads .env and rouse.yaml and nothing else. What else there is, such as prices,
// credentials or an agent, is made when somebody first asks for it and is the
// same for all who ask after that, so that no file is read twice. Several homes
// may be open at once: there are no globals, and nothing here prints, reads flags
// or ends the process. What goes wrong is for the operator to mend, in the
// configuration or in the environment, unless it says otherwise.
//
// [Setup.RunDue] is how a home runs the slot of its schedule that is due, and
// [Setup.Standing] says how a home stands that is left alone.
package setup

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/schedule"
	"rouse/agent/source"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/mirror"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/vault"
	"rouse/tools"
	"rouse/tools/mcp"
)

// Process is what a home is opened with beside its own files.
type Process struct {
	Environ []string         // as that of [os.Environ]
	Dotenv  *Dotenv          // what Environ has from the .env of a home; nil before that is read
	Now     func() time.Time // the wall clock
	Version string           // of the program
	Mirror  *mirror.Mirror   // who is handed what a cycle must not lose; nil is nobody
}

// Getenv looks a variable up in the environment; "" is none.
func (p Process) Getenv(name string) string { return proc.Lookup(p.Environ, name) }

// Setup is a home that is open, with what is made of it when somebody first asks.
// It may be used by several goroutines.
type Setup struct {
	Process
	Home   home.Home
	Config config.Config

	environment func() *redact.Redactor
	mu          sync.Mutex
	private     map[string]string // secrets that were read from files, by name

	Runner  func() *proc.Runner            // starts processes, in an environment without secrets
	Prices  func() (budget.Prices, error)  // those of prices.yaml
	Budget  func() (*budget.Budget, error) // what the home may still spend
	Slots   func() *schedule.Ledger        // what became of the slots of its schedule
	Servers func() (mcp.Config, error)     // those that .mcp.json names
	Tools   func() (*tools.Set, error)     // those that need nothing running
	Walls   func() (*Walls, error)         // what the processes of tools may reach
	Agent   func() (*agent.Agent, error)

	credentials func() (credentials, error)
	sources     func() *source.Sources
}

// Open reads the configuration of a home, and its .env unless p has it.
func Open(h home.Home, p Process) (*Setup, error) {
	if p.Dotenv == nil {
		p = p.In(h)
	}
	if p.Dotenv.Err != nil {
		return nil, p.Dotenv.Err
	}
	c, err := config.Load(h.Config(), p.Getenv)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(h.CheckWorkspace(h.Folder(c.Workspace)), checkWalls(h, c)); err != nil {
		return nil, c.Wrong(err)
	}
	return with(h, p, c), nil
}

// Look opens a home to be looked at: one whose configuration is wrong, which the error says,
// as if it had none.
func Look(h home.Home, p Process) (*Setup, error) {
	s, err := Open(h, p)
	if err != nil {
		if p.Dotenv == nil {
			p = p.In(h)
		}
		s = with(h, p, config.Default())
	}
	return s, err
}

// checkWalls refuses a sandbox that would let tools at the agent's own files.
func checkWalls(h home.Home, c config.Config) error {
	for i, path := range c.Sandbox.Write {
		if err := h.CheckWrite(fmt.Sprintf("sandbox.write[%d]", i), c.Path(path)); err != nil {
			return err
		}
	}
	for i, path := range c.Skills {
		if err := h.CheckRead(fmt.Sprintf("skills[%d]", i), c.Path(path)); err != nil {
			return err
		}
	}
	for i, path := range c.Sandbox.Read.Folders() {
		if err := h.CheckRead(fmt.Sprintf("sandbox.read[%d]", i), c.Path(path)); err != nil {
			return err
		}
	}
	return nil
}

// with is a home with a configuration, of which nothing is made yet.
func with(h home.Home, p Process, c config.Config) *Setup {
	s := &Setup{Process: p, Home: h, Config: c}
	s.environment = sync.OnceValue(func() *redact.Redactor { return redact.FromEnv(p.Environ, s.secretNames()) })
	s.Runner = sync.OnceValue(func() *proc.Runner {
		return &proc.Runner{Mark: rand.Text(), Env: proc.Environ(s.harmless())}
	})
	s.Prices = sync.OnceValues(func() (budget.Prices, error) { return budget.LoadPrices(h.Prices()) })
	s.Budget = sync.OnceValues(s.newBudget)
	s.Slots = sync.OnceValue(func() *schedule.Ledger {
		l := Ledger(h, p.Now)
		l.Disk, l.Alone = s.disk(), p.Mirror != nil
		return l
	})
	s.Servers = sync.OnceValues(s.readServers)
	s.credentials = sync.OnceValues(s.readCredentials)
	s.Walls = sync.OnceValues(s.newWalls)
	s.sources = sync.OnceValue(s.newSources)
	s.Tools = sync.OnceValues(s.newTools)
	s.Agent = sync.OnceValues(s.newAgent)
	return s
}

// ownKeys are the variables that hold keys of Rouse's own.
func (s *Setup) ownKeys() []string {
	keys := []string{s.Config.Model.APIKeyEnv, s.Config.Notebook.TokenEnv, s.Config.Serve.TokenEnv, s.Config.Serve.ViewTokenEnv, vault.KeyVariable}
	if s.Config.Telemetry.OTLP != "" {
		keys = append(keys, s.Config.Telemetry.HeadersEnv)
	}
	for _, f := range s.Config.Model.Fallback {
		if f.APIKeyEnv != "" {
			keys = append(keys, f.APIKeyEnv)
		}
	}
	for _, sink := range s.Config.Notify {
		if name := sink.Variable(); name != "" {
			keys = append(keys, name)
		}
	}
	for _, h := range s.Config.Hooks {
		keys = append(keys, h.SecretEnv)
	}
	return keys
}

// secretNames are the variables whose values are hidden, beside those that are
// secret by their name.
func (s *Setup) secretNames() []string { return slices.Concat(s.Config.Secrets, s.ownKeys()) }

// Redactor hides all secrets that were read: those of the environment and, once
// they are read, those of .mcp.json and of connections.
func (s *Setup) Redactor() *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.environment().And(s.private)
}

// Hidden reads what has secrets, and hides them: for verbs that start no cycle.
// What cannot be read holds no secret that the verb could show.
func (s *Setup) Hidden() *redact.Redactor {
	hide, _ := s.hidden()
	return hide
}

func (s *Setup) hidden() (*redact.Redactor, error) {
	_, err := s.Servers()
	_, failed := s.credentials()
	return s.Redactor(), cmp.Or(err, failed)
}

// Hide adds secrets, by name, to those that are hidden from now on.
func (s *Setup) Hide(secrets map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	maps.Copy(all, s.private)
	maps.Copy(all, secrets)
	s.private = all
}

func (s *Setup) readServers() (mcp.Config, error) {
	c, err := mcp.Load(s.Home.Servers(), mcp.Variables{Get: s.Getenv, Own: s.ownKeys()})
	if err != nil {
		return c, err
	}
	s.Hide(c.Secrets())
	if s.Config.Walls().Posture == config.NoPosture {
		return c, nil
	}
	for i, server := range c.Servers {
		problem := server.Sandbox.Problem
		for _, path := range server.Sandbox.Write {
			if err := s.Home.CheckWrite("sandbox: write", path); err != nil {
				problem = err.Error()
			}
		}
		c.Servers[i].Problem = cmp.Or(server.Problem, problem)
	}
	return c, nil
}

// Ledger is that of the slots of a home that need not be open.
func Ledger(h home.Home, now func() time.Time) *schedule.Ledger {
	l := &schedule.Ledger{Path: h.Slots(), Now: now}
	if info, err := os.Stat(h.Config()); err == nil {
		l.Since = info.ModTime()
	}
	return l
}

// disk is where a cycle writes what must not be lost.
func (s *Setup) disk() disk.FS { return s.Mirror.Disk(s.Home.Dir) }

// Vault is where the credentials of a home are.
func Vault(h home.Home, p Process) vault.Vault {
	return vault.Vault{FS: disk.OS{}, File: h.Vault(), KeyFile: h.VaultKey(), Key: p.Getenv(vault.KeyVariable)}
}

// harmless is the environment without the variables that hold secrets, such as
// an LC_TOKEN, which would pass as one of the language.
func (s *Setup) harmless() []string {
	return slices.DeleteFunc(slices.Clone(s.Environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return redact.IsSecretName(name) || slices.Contains(s.secretNames(), name)
	})
}
