package config

import (
	"errors"
	"fmt"
	"net/url"
)

// Notebook configures the notebooks.
type Notebook struct {
	// Python is the interpreter of new environments; empty is python3.
	Python string `yaml:"python"`
	// Isolated hides the packages of the system.
	Isolated bool `yaml:"isolated"`
	// Timeout is the time of a cell without an estimate, Idle that without
	// output, Max the most that an estimate can give.
	Timeout Duration `yaml:"timeout"`
	Idle    Duration `yaml:"idle"`
	Max     Duration `yaml:"max"`
	// Memory is the address space of a process; 0 is no limit.
	Memory Size `yaml:"memory"`
	// Backend is local or remote; of the latter Endpoint is the address and
	// TokenEnv the variable that holds the token.
	Backend  string `yaml:"backend"`
	Endpoint string `yaml:"endpoint"`
	TokenEnv string `yaml:"token_env"`
	// Before and After are programs with their arguments that get each cell as JSON on
	// their standard input; where Before fails, the cell is not run.
	Before []string `yaml:"before"`
	After  []string `yaml:"after"`
	// Search names the tool that web_search of a cell calls.
	Search string `yaml:"search"`
	// Credentials are the connections that cells may see, as engine/NAME.
	Credentials []string `yaml:"credentials"`
}

func (n Notebook) check() error {
	switch {
	case !oneOf(n.Backend, "local", "remote"):
		return fmt.Errorf("notebook.backend %q: use local or remote", n.Backend)
	case n.Memory != 0 && n.Memory < 64<<20:
		return errors.New("notebook.memory: use at least 64MiB, with its unit, or nothing for no limit")
	case n.TokenEnv != "" && !variable.Get().MatchString(n.TokenEnv):
		return errors.New("notebook.token_env: name the environment variable that holds the token, not the token")
	case n.Backend == "remote" && (n.Endpoint == "" || n.TokenEnv == ""):
		return errors.New("notebook.backend remote needs notebook.endpoint, an address such as https://notebooks.example, and notebook.token_env, the name of the variable that holds its token; or write them with: rouse notebook remote URL")
	case n.Endpoint != "":
		return checkEndpoint(n.Endpoint)
	}
	return nil
}

func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || !oneOf(u.Scheme, "http", "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// The value may hold a password.
		return errors.New("notebook.endpoint: use an address such as https://notebooks.example, without user, password or query")
	}
	return nil
}
