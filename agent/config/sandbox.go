package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/egress"
	"rouse/internal/sandbox"
)

// Posture is one word for what the processes that tools start may reach: the
// defaults of [Sandbox].
type Posture string

// A home with no posture has no walls. Open keeps tools off the agent's own files,
// Careful from all that they have no business with, and Strict leaves them the
// workspace and the system's folders.
const (
	NoPosture Posture = ""
	Open      Posture = "open"
	Careful   Posture = "careful"
	Strict    Posture = "strict"
)

// Sandbox says what the processes that tools start may reach. Once it is loaded,
// what the file leaves open is what the posture says.
type Sandbox struct {
	// Mode is auto, require, where nothing runs unless all can be kept, or off.
	Mode string `yaml:"mode"`
	Read Read   `yaml:"read"`
	// Write are files and folders, beside the workspace and the temporary and kept
	// folders of tools.
	Write   List            `yaml:"write"`
	Network sandbox.Network `yaml:"network"`
	// Hosts are those of a listed network: a.example, *.a.example or a.example:8443.
	Hosts       List  `yaml:"hosts"`
	UnixSockets *bool `yaml:"unix_sockets"`
	// These bound each process, and Processes those of a call; 0 is no bound.
	Memory    Size     `yaml:"memory"`
	Processes Whole    `yaml:"processes"`
	OpenFiles Whole    `yaml:"open_files"`
	FileSize  Size     `yaml:"file_size"`
	CPU       Duration `yaml:"cpu"`
}

// Read is a word, and folders that can be read beside what it stands for.
type Read []string

// ReadAny is all that the user can read, ReadAll is that without credentials and
// the agent's own files, ReadSystem are the folders of programs.
const (
	ReadAny    = "any" // of posture open; it cannot be written
	ReadAll    = "all"
	ReadSystem = "system"
)

// UnmarshalYAML reads a word, or a list of folders in which a word may stand too.
// A list without one goes with the system's folders, as no program starts without.
func (r *Read) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if !oneOf(n.Value, ReadAll, ReadSystem) {
			return fmt.Errorf("line %d: sandbox.read %q: use all, system, or a list of folders such as [~/data]", n.Line, n.Value)
		}
		*r = Read{n.Value}
		return nil
	}
	return (*List)(r).UnmarshalYAML(n)
}

// List is a list of texts, of which none is left out.
type List []string

// UnmarshalYAML refuses an entry without a text, which package yaml would pass over:
// ~ without quotes is one.
func (l *List) UnmarshalYAML(n *yaml.Node) error {
	for _, entry := range n.Content {
		if entry.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: an entry of a list is empty; write it, in quotes if it is ~", entry.Line)
		}
	}
	return n.Decode((*[]string)(l))
}

// Word is the word of a list, and Folders are the rest of it.
func (r Read) Word() string {
	for _, word := range []string{ReadAny, ReadAll} {
		if slices.Contains(r, word) {
			return word
		}
	}
	return ReadSystem
}

// Folders are those that can be read beside what the word stands for.
func (r Read) Folders() []string {
	return slices.DeleteFunc(slices.Clone(r), func(s string) bool { return oneOf(s, ReadAny, ReadAll, ReadSystem) })
}

// unset is what the file did not set, of what it may set to 0.
const unset = math.MinInt

// fill takes from the posture what the file leaves open.
func (s *Sandbox) fill(p Posture) {
	d := map[Posture]Sandbox{
		Open:    {Read: Read{ReadAny}, Network: sandbox.Open},
		Careful: {Read: Read{ReadAll}, Network: sandbox.Listed, Memory: 4 << 30, Processes: 512},
		Strict:  {Read: Read{ReadSystem}, Network: sandbox.None, Memory: 4 << 30, Processes: 512},
	}[p]
	if p != NoPosture {
		s.Mode = cmp.Or(s.Mode, "auto")
	}
	if s.Read == nil {
		s.Read = d.Read
	}
	s.Network = cmp.Or(s.Network, d.Network)
	if s.UnixSockets == nil {
		s.UnixSockets = new(p == Open)
	}
	if s.Memory == unset {
		s.Memory = d.Memory
	}
	if s.Processes == unset {
		s.Processes = d.Processes
	}
}

// checkSandbox reports what cannot be meant under posture and sandbox.
func (c *Config) checkSandbox() error {
	s := c.Sandbox
	switch {
	case !oneOf(string(c.Posture), "", "open", "careful", "strict"):
		return fmt.Errorf("posture %q: use open, careful or strict", c.Posture)
	case c.Posture == NoPosture:
		return c.checkNoSandbox()
	case !oneOf(s.Mode, "auto", "require", "off"):
		return fmt.Errorf("sandbox.mode %q: use auto, require or off", s.Mode)
	case !oneOf(string(s.Network), "open", "listed", "none"):
		return fmt.Errorf("sandbox.network %q: use open, listed or none", s.Network)
	case s.Network != sandbox.Listed && len(s.Hosts) > 0:
		return fmt.Errorf("sandbox.hosts: the network is %s, which asks no list; write network: listed, or leave hosts out", s.Network)
	case c.Posture == Open && len(s.Write) > 0:
		return errors.New("sandbox.write: with posture: open tools write where the user can; write posture: careful, or leave write out")
	case oneOf(ReadAll, s.Read...) && oneOf(ReadSystem, s.Read...):
		return errors.New("sandbox.read: all holds system too; keep one of them")
	}
	return cmp.Or(s.checkLimits(), s.checkHosts(), c.checkPaths("write", s.Write), c.checkPaths("read", s.Read))
}

// checkNoSandbox reports walls that nobody would put up.
func (c *Config) checkNoSandbox() error {
	if !bytes.Contains(c.text, []byte("sandbox")) {
		return nil
	}
	if node, err := find(c.text, "sandbox"); err != nil || node == nil {
		return nil
	}
	return errors.New("sandbox: holds only beside a posture; add the line posture: careful")
}

func (s Sandbox) checkLimits() error {
	switch {
	case s.Memory != 0 && s.Memory < 64<<20:
		return errors.New("sandbox.memory: use at least 64MiB, with its unit, or 0 for no limit")
	case s.Processes != 0 && s.Processes < 8:
		return errors.New("sandbox.processes: use at least 8, or 0 for no limit")
	case s.OpenFiles != 0 && s.OpenFiles < 32:
		return errors.New("sandbox.open_files: use at least 32, or 0 for no limit")
	case s.FileSize != 0 && s.FileSize < 1<<20:
		return errors.New("sandbox.file_size: use at least 1MiB, with its unit, or 0 for no limit")
	case s.CPU != 0 && s.CPU < Duration(time.Second):
		return errors.New("sandbox.cpu: use at least 1s, or 0s for no limit")
	}
	return nil
}

func (s Sandbox) checkHosts() error {
	for i, host := range s.Hosts {
		if _, err := egress.Entry(host); err != nil {
			return fmt.Errorf("sandbox.hosts[%d] %w", i, err)
		}
	}
	return nil
}

func (c *Config) checkPaths(key string, paths []string) error {
	for i, path := range paths {
		if err := c.CheckPath(path); err != nil {
			return fmt.Errorf("sandbox.%s[%d] %w", key, i, err)
		}
	}
	return nil
}

// CheckPath says what is wrong with the form of a path of the sandbox.
func (c *Config) CheckPath(path string) error {
	switch {
	case path == "":
		return errors.New("is empty; name a file or a folder")
	case strings.ContainsAny(path, "$\x00"):
		return fmt.Errorf("%q: variables are not replaced here; write the path out, or begin it with ~/", path)
	case strings.ContainsAny(path, "*?["):
		return fmt.Errorf("%q: a pattern is not replaced here; name the folder", path)
	case path[0] == '~' && path != "~" && !strings.HasPrefix(path, "~/"):
		return fmt.Errorf("%q: only ~/ is known, your own home; write the path out", path)
	case path[0] == '~' && c.user == "":
		return fmt.Errorf("%q: HOME is not set, so that ~ is nowhere; write the path out", path)
	}
	return nil
}

// Path is a path of the sandbox, absolute: a relative one is from the home, and ~
// is the user's home.
func (c *Config) Path(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	switch {
	case ok:
		return filepath.Join(c.user, rest)
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(c.dir, path)
}

// Walls is what processes of tools may reach, in the form in which it is used:
// the paths are absolute.
type Walls struct {
	Posture Posture
	Mode    string   // auto, require or off
	Read    string   // ReadAny, ReadAll or ReadSystem
	Folders []string // that can be read beside that
	Write   []string
	Network sandbox.Network
	Hosts   []string

	UnixSockets bool
	Limits      sandbox.Limits
}

// Walls gives what the posture and the sandbox say.
func (c Config) Walls() Walls {
	s := c.Sandbox
	w := Walls{Posture: c.Posture, Mode: s.Mode, Read: s.Read.Word(), Network: s.Network, Hosts: s.Hosts}
	for _, path := range s.Read.Folders() {
		w.Folders = append(w.Folders, c.Path(path))
	}
	for _, path := range s.Write {
		w.Write = append(w.Write, c.Path(path))
	}
	w.UnixSockets = s.UnixSockets != nil && *s.UnixSockets
	w.Limits = sandbox.Limits{
		Memory: int64(s.Memory), Processes: int(s.Processes), OpenFiles: int(s.OpenFiles), FileSize: int64(s.FileSize), CPU: time.Duration(s.CPU),
	}
	return w
}

// Stand says whether there are to be walls at all.
func (w Walls) Stand() bool { return w.Posture != NoPosture && w.Mode != "off" }
