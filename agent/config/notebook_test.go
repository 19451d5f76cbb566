package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotebook(t *testing.T) {
	for _, tt := range []struct{ text, err string }{
		{"notebook: {}", ""},
		{"notebook: {python: /usr/bin/python3, isolated: true, timeout: 1m, idle: 10s, max: 2h, memory: 4GiB}", ""},
		{"notebook: {memory: \"\"}", ""},
		{"notebook: {credentials: [postgres/PROD_DB]}", ""},
		{"notebook: {backend: remote, endpoint: 'https://a.example/nb', token_env: NB_TOKEN}", ""},
		{"notebook: {memory: 512}", "at least 64MiB"},
		{"notebook: {backend: cloud}", "use local or remote"},
		{"notebook: {idle: 0s}", "above 0"},
		{"notebook: {backend: remote}", "needs notebook.endpoint"},
		{"notebook: {backend: remote, endpoint: 'https://a.example'}", "notebook.token_env, the name"},
		{"notebook: {backend: remote, token_env: NB_TOKEN}", "needs notebook.endpoint"},
		{"notebook: {token_env: 'a b'}", "not the token"},
		{"notebook: {endpoint: 'a.example'}", "notebook.endpoint: use an address"},
		{"notebook: {endpoint: 'https://user:pass@a.example'}", "without user"},
	} {
		path := filepath.Join(t.TempDir(), "rouse.yaml")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, func(string) string { return "" })
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.err)
		}
	}
}
