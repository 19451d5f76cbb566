package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/tools"
)

// maxConfig is the most that a .mcp.json may have, in bytes.
const maxConfig = 1 << 20

// Config is what .mcp.json says. Without such a file it is empty.
type Config struct {
	// Dir is the folder of the file. Servers start there unless they say otherwise.
	Dir string
	// Servers are in the order of the file.
	Servers []Server
}

// Server is one entry of mcpServers.
type Server struct {
	Name string
	// Command, Args, Env and Dir say how to start a server that speaks over its
	// standard input and output. Dir is absolute. Env is all that it gets beside
	// the harmless variables that every child gets.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	// URL and Headers are those of a server that speaks streamable HTTP.
	URL     string
	Headers map[string]string
	// OAuth is what logging in there takes.
	OAuth OAuth
	// Disabled servers are not started.
	Disabled bool
	// Timeout is the time limit of a call; 0 is [Options.CallLimit]. StartTimeout is
	// that of its start; 0 is [Options.StartLimit].
	Timeout, StartTimeout time.Duration
	// Include are the tools that are on offer, by the server's own names for them, all
	// if it is empty; Exclude are those that are not. A * stands for anything.
	Include, Exclude []string
	// Sandbox is what the process of the server may reach.
	Sandbox Sandbox
	// Effect is what calls of its tools may change, and Reads where their texts are from,
	// as [tools.Tool] has it.
	Effect, Reads string
	// Source is the SHA-256 of what starts the server as the file has it: command,
	// args, cwd, url, and env but for what is secret by its name.
	Source string
	// Problem says why the entry cannot be used, and how to mend it.
	Problem string
}

// entry is how other clients write a server. They have further keys of their
// own, which are left alone.
type entry struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	OAuth    json.RawMessage   `json:"oauth,omitempty"`
	Disabled bool              `json:"disabled"`
	Timeout  json.RawMessage   `json:"timeout"`

	StartTimeout json.RawMessage `json:"start_timeout,omitempty"`
	Include      []string        `json:"include,omitempty"`
	Exclude      []string        `json:"exclude,omitempty"`
	Sandbox      json.RawMessage `json:"sandbox,omitempty"`
	Effect       string          `json:"effect,omitempty"`
	Reads        string          `json:"reads,omitempty"`
}

// Variables are what ${NAME} in a .mcp.json may stand for.
type Variables struct {
	// Get gives the value of a variable, "" of one that is not set.
	Get func(string) string
	// Own are variables that no server is ever given, such as that of the model's key.
	Own []string
}

// Load reads a .mcp.json. Variables in it are written ${NAME} or ${NAME:-default}.
// No file is an empty Config. A file that is not in the form of .mcp.json is an
// error with its line; an entry that is, but cannot be used, is a
// [Server.Problem], so that it costs no other.
func Load(path string, vars Variables) (Config, error) {
	data, err := disk.ReadSmall(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Config{}, err
	}
	c, err := parse(data, dir, vars)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return c, nil
}

func parse(data []byte, dir string, vars Variables) (Config, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	f := file{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	entries, err := f.entries()
	if err != nil {
		return Config{}, err
	}
	c := Config{Dir: dir}
	for _, e := range entries {
		c.Servers = append(c.Servers, resolve(e, dir, vars))
	}
	return c, nil
}

// resolve makes a Server of its entry.
func resolve(e named, dir string, vars Variables) Server {
	x := expander{Variables: vars}
	s := Server{
		Name: e.name, Command: x.text(e.Command), Args: x.list(e.Args), Env: x.table(e.Env),
		URL: x.text(e.URL), Headers: x.table(e.Headers), Dir: dir, Disabled: e.Disabled, Source: e.source(),
		Include: e.Include, Exclude: e.Exclude, Sandbox: sandboxOf(e.Sandbox, dir, expander{Variables: vars}), Effect: e.Effect, Reads: e.Reads,
	}
	if cwd := x.text(e.Cwd); filepath.IsAbs(cwd) {
		s.Dir = filepath.Clean(cwd)
	} else {
		s.Dir = filepath.Join(dir, cwd)
	}
	err := s.OAuth.read(e.OAuth, &x)
	if err == nil {
		s.Timeout, err = timeLimit("timeout", e.Timeout)
	}
	if err == nil {
		s.StartTimeout, err = timeLimit("start_timeout", e.StartTimeout)
	}
	if err == nil {
		err = cmp.Or(tools.CheckSaid(s.Effect, s.Reads), s.check(e.Type))
	}
	for _, pattern := range slices.Concat(s.Include, s.Exclude) {
		if _, wrong := path.Match(pattern, ""); wrong != nil && err == nil {
			err = fmt.Errorf("include and exclude: %q is no pattern", pattern)
		}
	}
	if err == nil && len(x.refused) > 0 {
		err = fmt.Errorf("%s is Rouse's own and given to no server: use a variable of another name", strings.Join(x.refused, ", "))
	}
	if err == nil && len(x.missing) > 0 {
		err = fmt.Errorf("%s is not set: set it, or give a default as in ${%s:-text}", strings.Join(x.missing, ", "), x.missing[0])
	}
	if err != nil {
		s.Problem = err.Error()
	}
	return s
}

// source is [Server.Source]. Variables stand in it by their names: the operator
// may change their values, as well as tokens that are in the file.
func (e entry) source() string {
	e.Type, e.Headers, e.Disabled, e.Timeout, e.OAuth = "", nil, false, nil, nil
	e.StartTimeout, e.Include, e.Exclude, e.Sandbox = nil, nil, nil, nil
	e.Effect, e.Reads = "", ""
	e.Env = maps.Clone(e.Env)
	maps.DeleteFunc(e.Env, func(name, _ string) bool { return redact.IsSecretName(name) })
	text, err := json.Marshal(e)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Start is what starts the server, or where it is, in a few words: what may be
// secret in it is not shown.
func (s Server) Start() string {
	if s.URL == "" {
		return fmt.Sprintf("%s with %d arguments", s.Command, len(s.Args))
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "an address"
	}
	return u.Scheme + "://" + u.Host
}

// check says what keeps the entry from being used.
func (s Server) check(kind string) error {
	switch {
	case kind == "sse":
		return errors.New(`type "sse" is the transport of 2024, which is not supported; most servers offer "http" at another address too`)
	case s.Command != "" && s.URL != "":
		return errors.New("both command and url: keep one")
	case s.Command == "" && s.URL == "":
		return errors.New("neither command nor url: give one")
	}
	switch kind {
	case "", "stdio", "http", "streamable-http", "streamableHttp":
	default:
		return fmt.Errorf("type %q is not known; stdio and http are", kind)
	}
	if (s.URL != "") == (kind == "stdio") && kind != "" {
		return fmt.Errorf("type %q does not go with what the entry has", kind)
	}
	if s.URL == "" {
		return s.checkCommand()
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url is no http or https address")
	}
	return nil
}

func (s Server) checkCommand() error {
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return errors.New("env holds a name or a value that no environment can hold")
		}
	}
	return nil
}

// wants says whether a tool is to be on offer.
func (s Server) wants(tool string) bool {
	is := func(pattern string) bool {
		ok, _ := path.Match(pattern, tool) // one that is wrong was refused
		return ok || pattern == tool
	}
	return (len(s.Include) == 0 || slices.ContainsFunc(s.Include, is)) && !slices.ContainsFunc(s.Exclude, is)
}

// timeLimit reads a time limit: a duration as "90s", or a number, which other
// clients take as milliseconds and a few as seconds. Nobody means less than a
// second, so a number below 1000 is in seconds.
func timeLimit(key string, raw json.RawMessage) (time.Duration, error) {
	var v any
	if raw == nil || json.Unmarshal(raw, &v) != nil || v == nil {
		return 0, nil
	}
	d, err := time.Duration(0), error(nil)
	switch v := v.(type) {
	case string:
		d, err = time.ParseDuration(v)
	case float64:
		unit := time.Millisecond
		if v < 1000 {
			unit = time.Second
		}
		d = time.Duration(min(v, 1e9) * float64(unit))
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%s %s: write milliseconds, or text such as "90s"`, key, raw)
	}
	return d, nil
}

// Secrets are the values of c that no log may show, by a name to show instead:
// headers, variables that are secret by their name, and what an address has in
// its query or as its user. They are to be redacted where text enters.
func (c Config) Secrets() map[string]string {
	secrets := map[string]string{}
	for _, s := range c.Servers {
		for name, value := range s.Env {
			if redact.IsSecretName(name) {
				secrets["mcp:"+s.Name+":"+name] = value
			}
		}
		s.remote(secrets)
	}
	return secrets
}

func (s Server) remote(secrets map[string]string) {
	if secret := s.OAuth.ClientSecret; secret != "" {
		secrets["mcp:"+s.Name+":clientSecret"] = secret
	}
	for name, value := range s.Headers {
		secrets["mcp:"+s.Name+":"+name] = value
		if _, token, ok := strings.Cut(value, " "); ok { // as in Bearer …
			secrets["mcp:"+s.Name+":"+name+" value"] = token
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return
	}
	if p, ok := u.User.Password(); ok {
		secrets["mcp:"+s.Name+":password"] = p
	}
	for name, values := range u.Query() {
		for i, v := range values {
			secrets[fmt.Sprintf("mcp:%s:%s %d", s.Name, name, i)] = v
		}
	}
}
