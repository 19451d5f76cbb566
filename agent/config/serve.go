package config

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"rouse/agent/hook"
	"rouse/agent/notify"
	"rouse/internal/loopback"
)

// Serve says where `rouse serve` shows the home, and to whom.
type Serve struct {
	Listen string `yaml:"listen"`
	// BehindProxy is the name, with a port if it is not 443, under which a proxy that does
	// TLS shows the page; "" for none.
	BehindProxy string `yaml:"behind_proxy"`
	// TokenEnv names the variable with the token of those who may act, ViewTokenEnv that of
	// those who may look.
	TokenEnv     string `yaml:"token_env"`
	ViewTokenEnv string `yaml:"view_token_env"`
}

// Telemetry is a collector of OpenTelemetry, at "" none.
type Telemetry struct {
	OTLP string `yaml:"otlp"`
	// HeadersEnv names the variable with the headers that it wants: name=value, with
	// commas between.
	HeadersEnv string `yaml:"headers_env"`
	// Timeout is how long a cycle may be late for what is sent after it.
	Timeout Duration `yaml:"timeout"`
	// Content says that it gets what models and tools said, too.
	Content bool `yaml:"content"`
}

func (t Telemetry) check() error {
	if !variable.Get().MatchString(t.HeadersEnv) {
		return errors.New("telemetry.headers_env: name the environment variable that holds the headers, not the headers")
	}
	return checkURL("telemetry.otlp", t.OTLP, "http://127.0.0.1:4318")
}

// Check reports where it may not be served: beyond loopback only a proxy may ask, and only
// who has a token is let in there.
func (s Serve) Check(getenv func(string) string) error {
	host, _, err := net.SplitHostPort(s.Listen)
	tokens := getenv(s.TokenEnv) != "" || getenv(s.ViewTokenEnv) != ""
	switch {
	case err != nil:
		return fmt.Errorf("listen %.100q: use an address and a port, such as 127.0.0.1:7373", s.Listen)
	case s.BehindProxy == "" && !loopback.Is(host):
		return fmt.Errorf("listen %.100q is not a loopback address: keep to 127.0.0.1, or name the proxy that does TLS before it with --behind-proxy", s.Listen)
	case s.BehindProxy != "" && !tokens:
		return fmt.Errorf("behind a proxy nobody sees the terminal: put a token into $%s, such as that of openssl rand -hex 32", s.TokenEnv)
	}
	for _, name := range []string{s.TokenEnv, s.ViewTokenEnv} {
		if token := getenv(name); token != "" && len(token) < minToken {
			return fmt.Errorf("the token in $%s has %d characters: take at least %d, such as those of openssl rand -hex 32", name, len(token), minToken)
		}
	}
	return nil
}

// minToken is how long a token is at least.
const minToken = 24

// checkHooks reports the first hook that cannot be meant.
func (c *Config) checkHooks() error {
	for i, h := range c.Hooks {
		if err := h.Validate(); err != nil {
			return fmt.Errorf("hooks[%d].%w", i, err)
		}
		if _, err := notify.Reach(c.Notify, h.Deliver.To); err != nil {
			return fmt.Errorf("hooks[%d].deliver: %w", i, err)
		}
		if slices.ContainsFunc(c.Hooks[:i], func(other hook.Spec) bool { return other.Name == h.Name }) {
			return fmt.Errorf("hooks[%d].name %s: another hook has it already", i, h.Name)
		}
	}
	return nil
}
