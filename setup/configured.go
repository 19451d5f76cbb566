package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"rouse/agent/config"
	"rouse/home"
	"rouse/internal/text"
	"rouse/internal/vault"
)

// CheckConfig says what cannot be meant in a file, if it were the rouse.yaml of a home.
func CheckConfig(h home.Home, p Process, file string) ([]config.Problem, error) {
	data, err := os.ReadFile(file)
	if err != nil && (file != h.Config() || !errors.Is(err, fs.ErrNotExist)) {
		return nil, fmt.Errorf("config check: %w", err)
	}
	return config.Problems(h.Config(), data, p.Getenv, func(c config.Config) error {
		return cmp.Or(h.CheckWorkspace(h.Folder(c.Workspace)), checkWalls(h, c))
	}), nil
}

// MeantKey ends a message about a key that rouse.yaml does not have.
func (s *Setup) MeantKey(key string) string {
	var known []string
	for _, v := range s.Config.Shown("", s.Getenv) {
		part, below, _ := strings.Cut(v.Key, ".")
		if below == key {
			return "; there is " + v.Key
		}
		if strings.Contains(key, ".") {
			part = v.Key
		}
		known = append(known, part)
	}
	return text.Meant(key, known)
}

// Shown are the values that hold under a key, "" for all, without secrets.
func (s *Setup) Shown(key string) []config.Value {
	hide := s.Hidden()
	list := s.Config.Shown(key, func(name string) string {
		if slices.ContainsFunc(s.Dotenv.Added, func(v vault.Variable) bool { return v.Name == name }) {
			return ".env: " + name
		}
		return "$" + name
	})
	for i := range list {
		list[i].Value = []byte(hide.String(string(list[i].Value)))
	}
	return list
}
