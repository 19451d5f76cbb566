package setup

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rouse/agent/config"
	"rouse/home"
	"rouse/internal/egress"
	"rouse/internal/sandbox"
	"rouse/internal/text"
)

// NoPosture says what to add to the rouse.yaml of a home without a posture.
const NoPosture = "nothing is walled off in this home: tools reach all that you can; for walls add the line posture: careful to rouse.yaml"

// Allowed is something that tools' processes are let at: a host, what can be read or
// written, or the network as a whole, in words.
type Allowed struct {
	Kind string `json:"kind"` // network, host, read or write
	What string `json:"what"`
}

// Allowance is an answer to the wish that something be allowed.
type Allowance struct {
	Allowed
	Added bool   `json:"added"` // else it was allowed already
	Note  string `json:"note"`
}

// String is what became of it.
func (a Allowance) String() string {
	said := "is allowed already"
	if a.Added {
		said = "is in rouse.yaml now and allowed from the next cycle on"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s %s; %s", a.Kind, text.Line(a.What, 4000), said, a.Note), "; ")
}

// Wrote are the lines that a text has and the one before it had not, such as those of an
// allowance.
func Wrote(before, now []byte) (lines []string) {
	was := strings.Split(string(before), "\n")
	for line := range strings.SplitSeq(string(now), "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.ContainsFunc(was, func(l string) bool { return strings.TrimSpace(l) == line }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Allowed lists what tools' processes are let at, beside the devices and folders that
// every program needs; why says why all is open, where that is so.
func (s *Setup) Allowed() (list []Allowed, why string) {
	w := s.Config.Walls()
	switch {
	case w.Posture == config.NoPosture:
		return nil, NoPosture
	case !w.Stand():
		return nil, "nothing is walled off: sandbox.mode is off in rouse.yaml"
	}
	add := func(kind string, what ...string) {
		for _, path := range what {
			list = append(list, Allowed{kind, path})
		}
	}
	add(sandbox.Net, string(w.Network))
	add(sandbox.Host, w.Hosts...)
	add(sandbox.Read, s.Config.Sandbox.Read...)
	if w.Posture == config.Open {
		add(sandbox.Write, config.ReadAny)
		return list, ""
	}
	add(sandbox.Write, s.writable()...)
	return list, ""
}

// writable are the folders that tools write in under most postures.
func (s *Setup) writable() []string {
	return append([]string{s.Config.Workspace, s.Home.Rel(s.Home.Temp()), s.Home.Rel(s.Home.Cache())}, s.Config.Sandbox.Write...)
}

// Allow gives the text of a rouse.yaml that also lets tools at a host, or at a path
// to be read or written; nil where that is allowed already. A relative path is from
// the current folder.
func (s *Setup) Allow(kind, what string) (a Allowance, text []byte, err error) {
	w := s.Config.Walls()
	if w.Posture == config.NoPosture {
		return a, nil, errors.New(NoPosture)
	}
	wish := s.allowPath
	if kind == sandbox.Host {
		wish = s.allowHost
	}
	if a, err = wish(w, Allowed{kind, what}); err != nil || !a.Added {
		return a, nil, err
	}
	if text, err = os.ReadFile(s.Home.Config()); err != nil {
		return a, nil, err
	}
	if !w.Stand() {
		a.Note = strings.TrimLeft(a.Note+"; sandbox.mode is off, so that nothing is walled off now", "; ")
	}
	text, err = config.AddAllowed(text, allowList(kind), a.What)
	return a, text, err
}

// allowList is the list of rouse.yaml that such things stand in.
func allowList(kind string) string {
	switch kind {
	case sandbox.Host:
		return config.HostsList
	case sandbox.Read:
		return config.ReadList
	}
	return config.WriteList
}

func (s *Setup) allowHost(w config.Walls, a Allowed) (Allowance, error) {
	host, err := egress.Entry(a.What)
	if err != nil {
		if u, wrong := url.Parse(a.What); wrong == nil {
			if host, failed := egress.Entry(u.Host); failed == nil {
				err = fmt.Errorf("%w; here: rouse allow host %s", err, host)
			}
		}
		return Allowance{}, err
	}
	a.What = host
	switch w.Network {
	case sandbox.Open:
		return Allowance{a, false, "the network is open: every host is allowed"}, nil
	case sandbox.None:
		return Allowance{}, errors.New("the network of tools is none; for a list of hosts write network: listed under sandbox in rouse.yaml, which needs bubblewrap")
	}
	for _, listed := range w.Hosts {
		if listed, _ = egress.Entry(listed); listed == host {
			return Allowance{a, false, "it is in the list"}, nil
		}
	}
	note := ""
	if walls, err := s.Walls(); err == nil && walls != nil && !walls.System.Mounts() {
		note = "but no list can be kept here, so that tools have no network at all: " + walls.Lacks
	}
	return Allowance{a, true, note}, nil
}

func (s *Setup) allowPath(w config.Walls, a Allowed) (Allowance, error) {
	path, err := s.wished(a.What)
	if err != nil {
		return Allowance{}, err
	}
	a.What = s.Home.Rel(path)
	there, any, check := s.writable(), w.Posture == config.Open, s.Home.CheckWrite
	if a.Kind == sandbox.Read {
		there, any, check = append(there, s.Config.Sandbox.Read.Folders()...), w.Read == config.ReadAny, s.Home.CheckRead
	}
	if a.Kind == sandbox.Read && path == "/" {
		return Allowance{}, errors.New("/: name a file or a folder; for all but credentials write read: all under sandbox in rouse.yaml")
	}
	if err := check(a.Kind, path); err != nil {
		return Allowance{}, err
	}
	if any {
		return Allowance{a, false, "with posture: open tools " + a.Kind + " where you can"}, nil
	}
	for _, entry := range there {
		if rel, err := filepath.Rel(home.Resolved(s.Config.Path(entry)), home.Resolved(path)); err == nil && filepath.IsLocal(rel) {
			return Allowance{a, false, "it is in the list, by " + entry}, nil
		}
	}
	if walls, err := s.Walls(); err == nil && walls != nil && walls.Tools().Lets(a.Kind, path) {
		return Allowance{a, false, "tools " + a.Kind + " all there but what is hidden from them"}, nil
	}
	_, err = os.Stat(path)
	return Allowance{a, true, map[bool]string{true: "it counts once it is there"}[os.IsNotExist(err)]}, nil
}

// wished is a path that was named in a command line.
func (s *Setup) wished(what string) (string, error) {
	if err := s.Config.CheckPath(what); err != nil {
		return "", err
	}
	if strings.HasPrefix(what, "~") {
		return s.Config.Path(what), nil
	}
	return filepath.Abs(what)
}
