package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rouse/internal/sandbox"
)

// Sandbox is what the process of a server may reach in a home that has walls,
// beside what all processes of tools may. Paths are absolute.
type Sandbox struct {
	// Network is that of the process; "" is open.
	Network sandbox.Network
	Read    []string
	Write   []string
	// Problem says why it cannot be meant, where the home has walls: elsewhere the key
	// may be another client's.
	Problem string
}

// Set says whether the entry says anything of it that holds.
func (s Sandbox) Set() bool {
	return s.Problem == "" && (s.Network != "" || s.Read != nil || s.Write != nil)
}

// sandboxOf is that of an entry. What is no object is another client's.
func sandboxOf(raw json.RawMessage, dir string, x expander) Sandbox {
	s, err := readSandbox(raw, dir, &x)
	if err == nil && len(x.missing)+len(x.refused) > 0 {
		err = errors.New("sandbox: ${NAME} stands for variables that are set, and not Rouse's own")
	}
	if err != nil {
		return Sandbox{Problem: err.Error()}
	}
	return s
}

func readSandbox(raw json.RawMessage, dir string, x *expander) (s Sandbox, err error) {
	if !bytes.HasPrefix(raw, []byte("{")) {
		return s, nil
	}
	var e struct {
		Network sandbox.Network `json:"network"`
		Read    []string        `json:"read"`
		Write   []string        `json:"write"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return s, fmt.Errorf(`sandbox: %s; write {"network": "open", "read": [], "write": []}`, strings.TrimPrefix(err.Error(), "json: "))
	}
	if !slices.Contains([]sandbox.Network{"", sandbox.Open, sandbox.Listed, sandbox.None}, e.Network) {
		return s, fmt.Errorf("sandbox: network %q: use open, listed or none", e.Network)
	}
	s.Network = e.Network
	if s.Read, err = paths("read", e.Read, dir, x); err == nil {
		s.Write, err = paths("write", e.Write, dir, x)
	}
	return s, err
}

// paths makes paths absolute: a relative one is from the home, and ~ is the user's.
func paths(key string, list []string, dir string, x *expander) (abs []string, err error) {
	for _, path := range x.list(list) {
		if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') && x.Get("HOME") != "" {
			path = x.Get("HOME") + rest
		}
		if path == "" || path[0] == '~' {
			return nil, fmt.Errorf("sandbox: %s %q: name a file or a folder, its path written out", key, path)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		abs = append(abs, filepath.Clean(path))
	}
	return abs, nil
}
