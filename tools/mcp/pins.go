package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"rouse/internal/disk"
)

// pins is the file that says which tools were accepted, word for word.
type pins struct {
	fs   disk.FS
	path string
	mu   sync.Mutex
}

// pinned is the content of the file.
type pinned struct {
	V int `json:"v"`
	// Servers has the hash of each tool, by server and by the tool's own name.
	Servers map[string]map[string]string `json:"servers"`
	// Looked has the hash of the list that a person accepted: others were taken as they
	// were when they were first seen.
	Looked map[string]string `json:"looked,omitempty"`
}

// get gives what is accepted of a server; ok is false if it was never seen.
func (p *pins) get(server string) (accepted map[string]string, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := p.load()
	accepted, ok = f.Servers[server]
	return accepted, ok, err
}

// set accepts these tools of a server and no others; a person may have looked at them.
func (p *pins) set(server string, tools map[string]string, looked bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := p.load()
	if err != nil {
		return err
	}
	f.Servers[server] = tools
	if looked {
		f.Looked[server] = listHash(tools)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(p.fs, p.path, append(data, '\n'), 0o600)
}

func (p *pins) load() (pinned, error) {
	f := pinned{V: 1}
	data, err := os.ReadFile(p.path)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.V != 1 {
		err = fmt.Errorf("version %d is not known here", f.V)
	}
	if f.Servers == nil {
		f.Servers = map[string]map[string]string{}
	}
	if f.Looked == nil {
		f.Looked = map[string]string{}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("the accepted tools cannot be read, so none is on: %s: %w; mend or remove that file", p.path, err)
	}
	return f, nil
}

// AcceptedLists gives, by server, the hash of the list of tools that the file at
// path says are accepted. No file is none.
func AcceptedLists(path string) (map[string]string, error) {
	f, err := (&pins{path: path}).load()
	lists := map[string]string{}
	for name, accepted := range f.Servers {
		lists[name] = listHash(accepted)
	}
	return lists, err
}

// listHash is the hash of a list of accepted tools.
func listHash(accepted map[string]string) string {
	text, err := json.Marshal(accepted) // in the order of the names
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// hash is what a tool is pinned by: all that a model may see of it. The order of
// keys does not count, some servers change it.
func (t rawTool) hash() string {
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte(t.Name), []byte(t.Title), []byte(t.Description),
		canonical(t.InputSchema), canonical(t.OutputSchema), canonical(t.Annotations),
	} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is JSON with its keys in order and its numbers as they were.
func canonical(data []byte) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return data
	}
	if out, err := json.Marshal(v); err == nil && !dec.More() {
		return out
	}
	return data
}
