package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Fallback is a model that is asked where the first is away. Without a BaseURL it is
// on the server of the first, and without an APIKeyEnv it has the key of the first there.
type Fallback struct {
	Name      string `yaml:"name"`
	BaseURL   string `yaml:"base_url"`
	APIKeyEnv string `yaml:"api_key_env"`
	// API and what is added are those of the first, where nothing is said here and it
	// is on the same server.
	API   string `yaml:"api"`
	Added `yaml:",inline"`
}

// Added is what all requests to a model have beside.
type Added struct {
	Temperature *float64       `yaml:"temperature" json:"temperature,omitempty"`
	Effort      string         `yaml:"reasoning_effort" json:"reasoning_effort,omitempty"`
	Extra       map[string]any `yaml:"extra" json:"extra,omitempty"` // for the body as it is; null takes out
}

// Style is that as the model's client and the journal have it, "" for nothing.
func (a Added) Style() (string, error) {
	if a.Temperature == nil && a.Effort == "" && len(a.Extra) == 0 {
		return "", nil
	}
	text, err := json.Marshal(a)
	return string(text), err
}

// checkAPI looks at how a model is asked; key is where the file has it.
func checkAPI(key, api string, a Added) error {
	efforts := []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}
	switch {
	case !oneOf(api, "", "auto", "chat", "responses", "messages"):
		return fmt.Errorf("%s.api %q: use auto, chat, responses or messages", key, api)
	case a.Temperature != nil && !(*a.Temperature >= 0 && *a.Temperature <= 2):
		return fmt.Errorf("%s.temperature: use 0 to 2", key)
	case !oneOf(a.Effort, efforts...):
		return fmt.Errorf("%s.reasoning_effort %q: use %s or max", key, a.Effort, strings.Join(efforts[1:len(efforts)-1], ", "))
	}
	for name := range a.Extra {
		if oneOf(name, "model", "messages", "input", "instructions", "system", "tools", "tool_choice", "stream") {
			return fmt.Errorf("%s.extra.%s: Rouse says this itself; take it out", key, name)
		}
		if oneOf(name, "n", "max_tokens", "max_completion_tokens", "max_output_tokens") { // by which money is set aside
			return fmt.Errorf("%s.extra.%s: limits could not count on it; take it out, model.max_output bounds a reply", key, name)
		}
	}
	if _, err := a.Style(); err != nil {
		return fmt.Errorf("%s.extra: use what JSON can say: %w", key, err)
	}
	return nil
}

func (m Model) checkFallback() error {
	for i, f := range m.Fallback {
		key := fmt.Sprintf("model.fallback[%d]", i)
		switch {
		case f.Name == "":
			return errors.New(key + ": the key name is missing; write {name, base_url, api_key_env}")
		case f.APIKeyEnv != "" && !variable.Get().MatchString(f.APIKeyEnv):
			return errors.New(key + ".api_key_env: name the environment variable that holds the key, not the key")
		}
		if err := cmp.Or(checkURL(key+".base_url", f.BaseURL, modelURL), checkAPI(key, f.API, f.Added)); err != nil {
			return err
		}
	}
	return nil
}

// Fallbacks are the models that are asked where this one is away, each with all that
// it has of this one. The key of this one goes to no other server.
func (m Model) Fallbacks() (list []Model) {
	if m.Provider == "offline" {
		return nil
	}
	for _, f := range m.Fallback {
		one := m
		one.Fallback, one.Name = nil, f.Name
		if f.BaseURL != "" && f.BaseURL != m.BaseURL {
			one.BaseURL, one.APIKeyEnv, one.API, one.Added = f.BaseURL, "", "auto", Added{}
		}
		one.API = cmp.Or(f.API, one.API)
		one.Temperature, one.Effort = cmp.Or(f.Temperature, one.Temperature), cmp.Or(f.Effort, one.Effort)
		if f.Extra != nil {
			one.Extra = f.Extra
		}
		if f.APIKeyEnv != "" {
			one.APIKeyEnv = f.APIKeyEnv
		}
		list = append(list, one)
	}
	return list
}
