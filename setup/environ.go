package setup

import (
	"slices"
	"strings"

	"rouse/home"
	"rouse/internal/vault"
)

// Dotenv is the .env of a home, and what it changes. Where it cannot be read, it
// changes nothing.
type Dotenv struct {
	All   []vault.Variable // what it holds
	Added []vault.Variable // of these, what the environment does not have
	Given []string         // the environment without it
	Err   error            // why it cannot be read
}

// unheard are variables that .env cannot set: the home is found before its .env is
// read, and whose child a process is says the one that started it.
var unheard = [...]string{"ROUSE_HOME", "ROUSE_CHILD", HidesVariable, ByVariable}

// HidesVariable lists what tools of a home see nothing of but the home itself, where it is
// below: a worker of a fleet has homes of others, and their keys.
const HidesVariable = "ROUSE_FLEET_HIDES"

// ByVariable says who ordered what a worker of a fleet runs. Tools cannot use it: where they reach
// what people said, none of it counts.
const ByVariable = "ROUSE_FLEET_BY"

// IsProxy says whether a variable names a proxy, or who needs none.
func IsProxy(name string) bool {
	switch strings.ToLower(name) {
	case "http_proxy", "https_proxy", "all_proxy", "no_proxy":
		return true
	}
	return false
}

// Alone is the process as it was started, without the .env of a home.
func (p Process) Alone() Process {
	if p.Dotenv != nil {
		p.Environ, p.Dotenv = p.Dotenv.Given, nil
	}
	return p
}

// In is the process in a home. The variables of its .env stand before those of the
// environment: of a name that comes twice the last one counts, so the environment
// beats the file, and redaction knows both.
func (p Process) In(h home.Home) Process {
	d := &Dotenv{Given: p.Environ}
	p.Dotenv = d
	if d.All, d.Err = vault.ReadEnv(h.Env()); d.Err != nil {
		return p
	}
	var merged []string
	for _, v := range d.All {
		if slices.Contains(unheard[:], v.Name) {
			continue
		}
		merged = append(merged, v.Name+"="+v.Value)
		if !slices.ContainsFunc(d.Given, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") }) {
			d.Added = append(d.Added, v)
		}
	}
	p.Environ = append(merged, d.Given...)
	return p
}
