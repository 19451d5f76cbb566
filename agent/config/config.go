// Package config reads rouse.yaml, the configuration of a home.
//
// Every key is optional. An unknown key is an error: a setting that does
// nothing is worse than none. Flags beat the environment, which beats the file.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"rouse/agent/hook"
	"rouse/dispatcher/policy"
	"rouse/internal/disk"
	"rouse/internal/lazy"
	"rouse/internal/yamlerror"
	"rouse/tools/command"
)

// Config is what rouse.yaml says, with the defaults filled in.
type Config struct {
	// Workspace is the folder in which tools work, relative to the home.
	Workspace string `yaml:"workspace"`
	Model     Model  `yaml:"model"`
	Cycle     Cycle  `yaml:"cycle"`
	// Conversation says what the model is shown.
	Conversation Conversation `yaml:"conversation"`
	// Observations says what becomes of large tool outputs.
	Observations Observations `yaml:"observations"`
	Tools        Tools        `yaml:"tools"`
	Notebook     Notebook     `yaml:"notebook"`
	History      History      `yaml:"history"`
	// Secrets are the names of environment variables whose values are hidden.
	Secrets []string `yaml:"secrets"`

	Unattended `yaml:",inline"`
	Waking     `yaml:",inline"`

	Posture Posture `yaml:"posture"`
	Sandbox Sandbox `yaml:"sandbox"`
	Origins Origins `yaml:"origins"`
	// Skills are the folders in which skills are; nil is the one of the home.
	Skills []string `yaml:"skills"`
	// Policy are the rules of calls, of which the first that fits decides.
	Policy []policy.Rule `yaml:"policy"`
	// Standing are checks that hold for every cycle.
	Standing Standing `yaml:"standing"`
	// Serve is the page in a browser.
	Serve Serve `yaml:"serve"`
	// Telemetry is where monitoring elsewhere is told what cycles did.
	Telemetry Telemetry `yaml:"telemetry"`
	// Hooks are tasks that programs elsewhere may leave, by that page.
	Hooks []hook.Spec `yaml:"hooks"`

	name    string // of the file
	dir     string // of it: the home
	user    string // whose home ~ is
	fileURL string // model.base_url of it
	elseURL bool   // the environment names another one
	named   bool   // the environment names the model
	auto    bool   // the provider was found out
	text    []byte // which it was read from
}

// Model says which model is asked, and how.
type Model struct {
	Provider    string   `yaml:"provider"` // auto, openai or offline
	Name        string   `yaml:"name"`
	BaseURL     string   `yaml:"base_url"`
	APIKeyEnv   string   `yaml:"api_key_env"`
	API         string   `yaml:"api"`        // auto, chat, responses or messages
	Protocol    string   `yaml:"protocol"`   // auto, tools or json
	MaxOutput   Whole    `yaml:"max_output"` // tokens of one reply
	IdleTimeout Duration `yaml:"idle_timeout"`
	Retries     Whole    `yaml:"retries"`
	Added       `yaml:",inline"`
	// Fallback are asked, in this order, where the model is away.
	Fallback []Fallback `yaml:"fallback"`
}

// Cycle bounds one cycle.
type Cycle struct {
	MaxIterations Whole    `yaml:"max_iterations"`
	Timeout       Duration `yaml:"timeout"`
	// Locked are keys of the state that the model may not change.
	Locked []string `yaml:"locked"`
	// NotesMax bounds the notes of the memory.
	NotesMax Size `yaml:"notes_max"`
	// CompletedMax is how many finished tasks the memory keeps.
	CompletedMax Whole `yaml:"completed_max"`
	// NextWake bounds the wake that a cycle may ask for.
	NextWake NextWake `yaml:"next_wake"`
}

// Conversation bounds what the model is shown.
type Conversation struct {
	// MaxTokens bounds one request, estimated.
	MaxTokens Whole `yaml:"max_tokens"`
	// KeepResults of the latest results are not pruned.
	KeepResults Whole `yaml:"keep_results"`
	// TaskScratchpad says whether calls come with notes: required, optional or off.
	TaskScratchpad string `yaml:"task_scratchpad"`
}

// Observations configures how large tool outputs are kept.
type Observations struct {
	// Threshold is the size from which an observation is parked, in bytes.
	Threshold Size `yaml:"threshold_bytes"`
	// PreviewChars are shown of its beginning, and of its end.
	PreviewChars Whole `yaml:"preview_chars"`
	// TTL counts from the end of the cycle that made it.
	TTL Duration `yaml:"ttl"`
	// MaxBytes bounds what all of them take on the disk.
	MaxBytes Size   `yaml:"max_bytes"`
	Codec    string `yaml:"codec"`   // zstd or raw
	Summary  string `yaml:"summary"` // preview or model
}

// Tools configures the tools.
type Tools struct {
	// MaxOutput is how much one call may print before it is ended.
	MaxOutput Size `yaml:"max_output"`
	Shell     struct {
		Timeout Duration `yaml:"timeout"`
	} `yaml:"shell"`
	Files struct {
		// Roots are further folders that the file tools may use.
		Roots []string `yaml:"roots"`
	} `yaml:"files"`
	HTTP struct {
		Timeout Duration `yaml:"timeout"`
		// Allow are hosts exempt from the private-address guard, and Ports those that
		// are open on every other.
		Allow []string `yaml:"allow"`
		Ports []int    `yaml:"ports"`
	} `yaml:"http"`
	Commands []command.Spec `yaml:"commands"`
}

// Default is the configuration of a home that says nothing.
func Default() Config {
	const day = Age(24 * time.Hour)
	c := Config{
		Workspace: "workspace",
		Model: Model{
			Provider: "auto", Name: "gpt-5-mini", APIKeyEnv: "OPENAI_API_KEY", API: "auto", Protocol: "auto",
			MaxOutput: 8192, IdleTimeout: Duration(2 * time.Minute), Retries: 4,
		},
		Cycle:        Cycle{MaxIterations: 20, Timeout: Duration(15 * time.Minute), NotesMax: 16 << 10, CompletedMax: 100, NextWake: NextWake{Duration(time.Minute), Duration(24 * time.Hour)}},
		Conversation: Conversation{MaxTokens: 32000, KeepResults: 3, TaskScratchpad: "required"},
	}
	c.Observations = Observations{
		Threshold: 4096, PreviewChars: 500, TTL: Duration(time.Hour), MaxBytes: 2 << 30, Codec: "zstd", Summary: "preview",
	}
	c.Notebook = Notebook{Timeout: Duration(2 * time.Minute), Idle: Duration(30 * time.Second), Max: Duration(time.Hour), Backend: "local"}
	c.History = History{Workspace: "auto", MaxFile: 32 << 20, MaxBytes: 1 << 30}
	c.Failures.PauseAfter = 5
	c.Retention = Retention{Keep: 30 * day, KeepFailed: 90 * day}
	c.Approvals.Expire = 3 * day
	c.Sandbox.Memory, c.Sandbox.Processes = unset, unset
	c.Serve = Serve{Listen: "127.0.0.1:7373", TokenEnv: "ROUSE_PAGE_TOKEN", ViewTokenEnv: "ROUSE_PAGE_VIEW_TOKEN"}
	c.Telemetry = Telemetry{HeadersEnv: "OTEL_EXPORTER_OTLP_HEADERS", Timeout: Duration(time.Second)}
	c.Tools.MaxOutput = 1 << 30
	c.Tools.Shell.Timeout = Duration(time.Minute)
	c.Tools.HTTP.Timeout = Duration(30 * time.Second)
	return c
}

// Load reads the file at path, which need not exist, and lets the environment
// override it. Errors name the file, the line and the mend.
func Load(path string, getenv func(string) string) (Config, error) {
	data, err := disk.ReadSmall(path, maxBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Default(), fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return read(path, data, getenv)
}

func read(path string, data []byte, getenv func(string) string) (Config, error) {
	c, name := Default(), filepath.Base(path)
	if err := decode(data, &c); err != nil {
		return c, fmt.Errorf("read %s: %s", name, yamlerror.Text(meant(err)))
	}
	c.name, c.text, c.fileURL = name, data, c.Model.BaseURL
	c.dir, c.user = filepath.Dir(path), getenv("HOME")
	c.Sandbox.fill(c.Posture)
	c.named = getenv("ROUSE_MODEL") != ""
	c.Model.Name = cmp.Or(getenv("ROUSE_MODEL"), c.Model.Name)
	c.elseURL = getenv("OPENAI_BASE_URL") != ""
	c.Model.BaseURL = cmp.Or(getenv("OPENAI_BASE_URL"), c.Model.BaseURL)
	if err := c.check(); err != nil {
		return c, c.Wrong(err)
	}
	if c.auto = c.Model.Provider == "auto"; c.auto {
		c.Model.Provider = c.provider(getenv)
	}
	return c, nil
}

// FileURL is model.base_url as the file has it. It is overridden where the
// environment names an address.
func (c Config) FileURL() (url string, overridden bool) { return c.fileURL, c.elseURL }

// maxBytes is the largest configuration that is read.
const maxBytes = 1 << 20

func decode(data []byte, c *Config) error {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			return fmt.Errorf("line %d: the byte 0x%02x is no text; save the file as UTF-8", 1+bytes.Count(data[:i], []byte{'\n'}), data[i])
		}
		i += size
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("more than one YAML document")
	}
	return nil
}

func (c *Config) provider(getenv func(string) string) string {
	if c.Model.BaseURL != "" || getenv(c.Model.APIKeyEnv) != "" || len(c.Model.Fallback) > 0 {
		return "openai"
	}
	return "offline"
}

// check reports the first value that cannot be meant, by an error that begins
// with its key; see [Config.Wrong].
func (c *Config) check() error {
	m, y, o := c.Model, c.Cycle, c.Observations
	switch {
	case !oneOf(m.Provider, "auto", "openai", "offline"):
		return fmt.Errorf("model.provider %q: use auto, openai or offline", m.Provider)
	case !oneOf(m.Protocol, "auto", "tools", "json"):
		return fmt.Errorf("model.protocol %q: use auto, tools or json", m.Protocol)
	case !variable.Get().MatchString(m.APIKeyEnv):
		return errors.New("model.api_key_env: name the environment variable that holds the key, not the key")
	case cmp.Or(checkAPI("model", m.API, m.Added), m.checkFallback()) != nil:
		return cmp.Or(checkAPI("model", m.API, m.Added), m.checkFallback())
	case m.Retries < 0:
		return errors.New("model.retries must not be below 0")
	case o.Threshold < 256 || o.Threshold > 1<<30:
		return errors.New("observations.threshold_bytes: use 256 to 1GiB")
	case o.PreviewChars < 0 || o.PreviewChars > 1000:
		return errors.New("observations.preview_chars: use 0 to 1000")
	case o.MaxBytes < 1<<20:
		return errors.New("observations.max_bytes must be at least 1MiB")
	case !oneOf(o.Codec, "zstd", "raw"):
		return fmt.Errorf("observations.codec %q: use zstd or raw", o.Codec)
	case !oneOf(o.Summary, "preview", "model"):
		return fmt.Errorf("observations.summary %q: use preview or model", o.Summary)
	case !y.NextWake.meant():
		return errors.New("cycle.next_wake: use {min: 1m, max: 24h}, of at least a second and at most a year; max: 0s allows none")
	case y.NotesMax < 1<<10:
		return errors.New("cycle.notes_max: use at least 1KiB")
	case c.Conversation.MaxTokens < 4000:
		return errors.New("conversation.max_tokens must be at least 4000")
	case !oneOf(c.Conversation.TaskScratchpad, "required", "optional", "off"):
		return fmt.Errorf("conversation.task_scratchpad %q: use required, optional or off", c.Conversation.TaskScratchpad)
	case c.Workspace == "":
		return errors.New("workspace: name a folder")
	}
	return cmp.Or(c.checkPositive(), c.checkLists(), checkLimits(c.text), c.Unattended.check(), c.Notebook.check(), c.History.check(), c.Waking.check(c.Notify), c.checkSandbox(), c.checkOrigins(), c.checkPolicy(), c.checkHooks(), c.Telemetry.check(), checkURL("model.base_url, or OPENAI_BASE_URL", m.BaseURL, modelURL))
}

// checkPositive reports the first number that is 0 or less and must not be.
func (c *Config) checkPositive() error {
	for _, v := range []struct {
		key   string
		value int64
	}{
		{"model.max_output", int64(c.Model.MaxOutput)},
		{"model.idle_timeout", int64(c.Model.IdleTimeout)},
		{"cycle.max_iterations", int64(c.Cycle.MaxIterations)},
		{"cycle.timeout", int64(c.Cycle.Timeout)},
		{"cycle.completed_max", int64(c.Cycle.CompletedMax)},
		{"conversation.keep_results", int64(c.Conversation.KeepResults)},
		{"observations.ttl", int64(c.Observations.TTL)},
		{"tools.max_output", int64(c.Tools.MaxOutput)},
		{"tools.shell.timeout", int64(c.Tools.Shell.Timeout)},
		{"tools.http.timeout", int64(c.Tools.HTTP.Timeout)},
		{"telemetry.timeout", int64(c.Telemetry.Timeout)},
		{"notebook.timeout", int64(c.Notebook.Timeout)},
		{"notebook.idle", int64(c.Notebook.Idle)},
		{"notebook.max", int64(c.Notebook.Max)},
	} {
		if v.value <= 0 {
			return fmt.Errorf("%s must be above 0", v.key)
		}
	}
	return nil
}

func (c *Config) checkLists() error {
	for i, host := range c.Tools.HTTP.Allow {
		if strings.ContainsAny(host, "/@ ") || host == "" {
			return fmt.Errorf("tools.http.allow[%d] %q: name a host, or host:port, and nothing else", i, host)
		}
	}
	for i, port := range c.Tools.HTTP.Ports {
		if port < 1 || port > 65535 {
			return fmt.Errorf("tools.http.ports[%d] %d: use 1 to 65535", i, port)
		}
	}
	for i, name := range c.Secrets {
		if !variable.Get().MatchString(name) {
			return fmt.Errorf("secrets[%d]: name the environment variable that holds the secret, not the secret", i)
		}
	}
	return nil
}

// variable matches the names of environment variables that a shell can set.
var variable = lazy.Regexp{Expr: `^[A-Za-z_][A-Za-z0-9_]*$`}

// modelURL is an address that a message shows.
const modelURL = "http://127.0.0.1:11434/v1"

func checkURL(key, base, like string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || !oneOf(u.Scheme, "http", "https") {
		// The value may hold a password.
		return fmt.Errorf("%s: use an address such as %s", key, like)
	}
	if u.User != nil || u.RawQuery+u.Fragment != "" {
		return fmt.Errorf("%s: leave out user, query and fragment; a key is in a variable of the environment or of .env", key)
	}
	return nil
}

func oneOf(s string, words ...string) bool { return slices.Contains(words, s) }
