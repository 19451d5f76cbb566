package config

import (
	"errors"
	"fmt"
)

// Fallback is a model that is asked where the first is away. Without a BaseURL it is
// on the server of the first, and without an APIKeyEnv it has the key of the first there.
type Fallback struct {
	Name      string `yaml:"name"`
	BaseURL   string `yaml:"base_url"`
	APIKeyEnv string `yaml:"api_key_env"`
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
		if err := checkURL(key+".base_url", f.BaseURL); err != nil {
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
			one.BaseURL, one.APIKeyEnv = f.BaseURL, ""
		}
		if f.APIKeyEnv != "" {
			one.APIKeyEnv = f.APIKeyEnv
		}
		list = append(list, one)
	}
	return list
}
