package setup

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rouse/agent/config"
	"rouse/dispatcher/policy"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/egress"
	"rouse/internal/proc"
	"rouse/internal/sandbox"
	"rouse/tools/mcp"
	"rouse/tools/notebook/local"
)

// Walls are what stands between the processes of tools and the rest of the machine,
// each kind of which has a box. What the operator configured to run stands outside:
// notifications, heartbeats, what is told of cells, and what installs a home. Nil has
// no walls, and its boxes are nil.
type Walls struct {
	config.Walls
	System sandbox.System
	Lacks  string // why bubblewrap is not used; "" where it is

	tools     plan
	box       *sandbox.Box // of tools
	home      home.Home
	skills    []string // folders of skills
	hides     []string // what a worker of a fleet has beside the home
	workspace string
	env       []string // of processes
	installer []string // what those are told that install packages
}

// newWalls makes the walls of the home: nil where it has no posture or the sandbox is
// off. An error says what is missing for a sandbox that is required.
func (s *Setup) newWalls() (*Walls, error) {
	c := s.Config.Walls()
	if !c.Stand() {
		return nil, nil
	}
	m := s.machine()
	w := &Walls{Walls: c, System: m.system, Lacks: m.lacks, home: s.Home, env: s.Runner().Env, installer: local.InstallEnviron(s.Environ)}
	if s.Config.Skills != nil { // the home's own folder is seen anyway
		w.skills = s.skillFolders()
	}
	w.installer = w.settings(w.installer)
	w.workspace, w.hides = s.Home.Folder(s.Config.Workspace), filepath.SplitList(s.Getenv(HidesVariable))
	w.tools = w.plan(w.workspace, cmp.Or(s.Config.Notebook.Python, "python3"), m.homes)
	w.box = w.made(w.tools, w.Hosts)
	if missing := w.missing(); w.Mode == "require" && len(missing) > 0 {
		return nil, s.Config.Wrong(fmt.Errorf("sandbox.mode: require, but this machine does not keep all of it: %s", strings.Join(missing, "; ")))
	}
	return w, nil
}

// plan is a policy whose files and folders are found out when they are needed: in a
// cycle that is while it waits for the model, or never.
type plan struct {
	sandbox.Policy
	find func(*sandbox.Policy)
}

// and is a plan with a change to what was found.
func (p plan) and(change func(*sandbox.Policy)) plan {
	find := p.find
	p.find = func(q *sandbox.Policy) { find(q); change(q) }
	return p
}

// made is the box of a plan, nil where nothing can confine it, or nothing is to be. A
// list of hosts that cannot be kept is no network.
func (w *Walls) made(p plan, hosts []string) *sandbox.Box {
	if p.Network == sandbox.Listed && !w.System.Mounts() {
		p.Network = sandbox.None
	}
	if !w.keepsOwn() {
		if p.Network == sandbox.Open && p.Limits == (sandbox.Limits{}) {
			return nil
		}
		p = p.and(func(q *sandbox.Policy) { q.Hidden, q.ReadOnly = nil, nil })
	}
	if !w.System.Confines() {
		return nil
	}
	if p.Network == sandbox.Listed {
		g := gate(hosts)
		p.Gate, p.Environ, p.Lists = g.Open, g.Environ, g.Lists
	}
	return sandbox.Later(p.Policy, p.find, w.System)
}

// gate is the way out to a list of hosts. Those of the configuration are in order; one
// that a variable for installers has and that is none is left out.
func gate(hosts []string) *egress.Gate {
	g, _ := egress.New(slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		_, err := egress.Entry(host)
		return err != nil
	}))
	g.Upstream = http.ProxyFromEnvironment
	return g
}

// plan is that of tools.
func (w *Walls) plan(workspace, python string, homes []string) plan {
	found := sync.OnceValue(func() sandbox.Policy { return w.policy(workspace, python, homes) })
	return plan{sandbox.Policy{Network: w.Network, Limits: w.Limits, UnixSockets: w.UnixSockets}, func(p *sandbox.Policy) {
		f := found()
		p.Read, p.Write, p.ReadOnly, p.Hidden, p.Temp, p.Cache = f.Read, f.Write, f.ReadOnly, f.Hidden, f.Temp, f.Cache
	}}
}

// policy is what tools see.
func (w *Walls) policy(workspace, python string, homes []string) sandbox.Policy {
	l := newLay()
	p := sandbox.Policy{
		Write: l.all(append(slices.Clone(w.Write), workspace)), Read: l.all(w.Folders), Temp: l.real(w.home.Temp()), Cache: l.real(w.home.Cache()),
	}
	p.ReadOnly = l.all(w.skills)
	p.Read = append(p.Read, p.ReadOnly...)
	if w.Posture == config.Open {
		p.Write, p.Temp, p.Cache = []string{"/"}, "", "" // all is theirs, also /tmp
	}
	path, person := filepath.SplitList(proc.Lookup(w.env, "PATH")), proc.Lookup(w.env, "HOME")
	if w.Read == config.ReadSystem {
		p.Read = slices.Concat(p.Read, systemFolders(), l.all(slices.Concat(certificates(w.env), programs(path, person), interpreter(python, w.env))))
	} else {
		p.Read = slices.Concat(p.Read, []string{"/"}, l.all(slices.DeleteFunc(append(certificates(w.env), programs(slices.DeleteFunc(path, plain), person)...), plain)))
	}
	if dir := l.real(w.home.Dir); w.Read != config.ReadSystem && !plain(dir) {
		p.Read = append(p.Read, dir)
	}
	if w.Read != config.ReadAny {
		named := slices.Concat(p.Read, p.Write) // what the operator names is meant
		p.Hidden = slices.DeleteFunc(append(l.private(persons(person)...), homes...), func(path string) bool { return slices.Contains(named, path) })
	}
	if len(w.hides) > 0 {
		p.Hidden = append(p.Hidden, l.all(w.hides)...)
		switch own := l.real(w.home.Dir); {
		case w.Posture == config.Open:
			p.Write = append(p.Write, own)
		case w.Read != config.ReadSystem:
			p.Read = append(p.Read, own)
		}
	}
	for _, o := range home.Owned() {
		switch path := l.real(filepath.Join(w.home.Dir, o.Name)); o.Access {
		case home.Hidden:
			p.Hidden = append(p.Hidden, path)
		case home.ReadOnly:
			p.ReadOnly = append(p.ReadOnly, path)
		}
	}
	return p
}

// plain says whether a path is seen wherever all can be read: bubblewrap shows a /tmp
// and a /run of its own.
func plain(path string) bool {
	return !strings.HasPrefix(path, "/tmp/") && !strings.HasPrefix(path, "/run/")
}

// persons are the homes of the user: that of the environment, and that of the system.
func persons(named string) (dirs []string) {
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		dirs = append(dirs, filepath.Clean(u.HomeDir))
	}
	if filepath.IsAbs(named) && !slices.Contains(dirs, filepath.Clean(named)) {
		dirs = append(dirs, filepath.Clean(named))
	}
	return dirs
}

// certificates are the files and folders of certificates that an environment names.
func certificates(env []string) (paths []string) {
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO"} {
		if path := proc.Lookup(env, name); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// interpreter are the folders of the Python that notebooks have.
func interpreter(python string, env []string) []string {
	path, err := proc.LookPath(python, proc.Lookup(env, "PATH"))
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if top := filepath.Dir(filepath.Dir(real)); err == nil && top != "/" && top != "/usr" {
		return []string{top}
	}
	return nil
}

// Tools is the box of the shell and of commands.
func (w *Walls) Tools() *sandbox.Box {
	if w == nil {
		return nil
	}
	return w.box
}

// effect is what the walls leave to the shell, to commands and to cells of our own: ""
// is as much as each could. What outlives the workspace's history went out, but for the
// modes and times of files elsewhere, which Landlock leaves them: those tell nobody anything.
func (w *Walls) effect() string {
	if w == nil || !w.keep(sandbox.OwnFiles, sandbox.Writes, sandbox.Services) || !w.closed() {
		return ""
	}
	if w.Posture == config.Open || slices.ContainsFunc(w.Write, func(path string) bool { return path != w.workspace }) {
		return ""
	}
	return string(policy.Workspace)
}

// closed says that tools reach no host: a list that is empty, or that cannot be kept, is
// no network.
func (w *Walls) closed() bool {
	listed := w.Network == sandbox.Listed && w.box != nil
	return w.keep(sandbox.NoNetwork) || listed && (len(w.Hosts) == 0 || !w.System.Mounts())
}

// keep says that something keeps these promises.
func (w *Walls) keep(promises ...sandbox.Promise) bool {
	holds := w.Holds()
	return !slices.ContainsFunc(promises, func(p sandbox.Promise) bool {
		return !slices.ContainsFunc(holds, func(h sandbox.Hold) bool { return h.Promise == p && h.By != "" })
	})
}

// Check is the box of checks, which change no more of the workspace than of the agent's
// own files.
func (w *Walls) Check() *sandbox.Box {
	if w == nil {
		return nil
	}
	return w.made(w.tools.and(func(p *sandbox.Policy) {
		workspace := home.Resolved(w.workspace)
		p.Write = slices.DeleteFunc(slices.Clone(p.Write), func(path string) bool { return path == workspace })
		p.Read, p.ReadOnly = append(slices.Clone(p.Read), workspace), append(slices.Clone(p.ReadOnly), workspace)
	}), w.Hosts)
}

// Writable are the folders in which tools write, where they do not write anywhere.
func (w *Walls) Writable() []string {
	if w == nil || w.Posture == config.Open {
		return nil
	}
	var p sandbox.Policy
	w.tools.find(&p)
	return append(slices.Clone(p.Write), p.Temp, p.Cache)
}

// Notebook gives the box of a notebook's process, which reads its folder and writes where
// [local.Writable] says, and that of what makes its environment and installs packages, which reaches the package index.
func (w *Walls) Notebook(dir string) (cells, install *sandbox.Box) {
	if w == nil {
		return nil, nil
	}
	p := w.tools
	if dir != "" {
		p = p.and(func(p *sandbox.Policy) {
			dir := home.Resolved(dir)
			p.Write = append(slices.Clone(p.Write), local.Writable(dir)...)
			p.Read = append(append(slices.Clone(p.Read), dir), pythons(interpreter(local.Interpreter(dir), nil))...)
		})
	}
	return w.made(p, w.Hosts), w.installing(p)
}

// settings are those of installers: between walls their caches are the home's.
func (w *Walls) settings(env []string) []string {
	if w == nil || w.Posture == config.Open {
		return env
	}
	return slices.DeleteFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "PIP_CACHE_DIR=") || strings.HasPrefix(e, "UV_CACHE_DIR=")
	})
}

// pythons are those folders that hold a Python: a cell may have put any link in the
// place of its own.
func pythons(dirs []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool {
		found, _ := filepath.Glob(filepath.Join(dir, "lib", "python3*"))
		return len(found) == 0
	})
}

// installing is the box of installers, which read what their settings name.
func (w *Walls) installing(p plan) *sandbox.Box {
	p = p.and(func(p *sandbox.Policy) {
		p.Read = slices.Clone(p.Read)
		for _, e := range w.installer {
			if _, path, _ := strings.Cut(e, "="); filepath.IsAbs(path) {
				p.Read = append(p.Read, home.Resolved(path))
			}
		}
	})
	hosts := indexHosts(w.env, w.installer)
	if p.Network == sandbox.Listed {
		hosts = append(hosts, w.Hosts...)
	}
	if p.Network != sandbox.Open && w.System.Mounts() {
		p.Network = sandbox.Listed
	} else {
		p.Network = sandbox.Open
	}
	return w.made(p, hosts)
}

// Server is the box of an MCP server: beside what tools may, it reaches what its entry
// says, all of the network unless that says otherwise, and it lives in the home.
func (w *Walls) Server(s mcp.Server) *sandbox.Box {
	if w == nil {
		return nil
	}
	if dir, err := filepath.Abs(s.Dir); err == nil {
		s.Dir = dir
	}
	_ = (disk.OS{}).MkdirAll(w.workspace, 0o700) // it writes there also before a tool has; where it cannot be made, not
	p := w.tools.and(func(p *sandbox.Policy) {
		l := newLay()
		named := l.all(slices.Concat(s.Sandbox.Read, s.Sandbox.Write))
		p.Hidden = slices.DeleteFunc(slices.Clone(p.Hidden), func(path string) bool { return slices.Contains(named, path) })
		p.Write = slices.Concat(p.Write, l.all(s.Sandbox.Write))
		p.Read = slices.Concat(p.Read, named, l.all([]string{w.home.Dir, s.Dir}))
		if filepath.IsAbs(s.Command) {
			p.Read = append(p.Read, l.real(s.Command))
		}
	})
	p.Network = cmp.Or(s.Sandbox.Network, sandbox.Open)
	return w.made(p, w.Hosts)
}

// indexHosts are the hosts from which packages of Python are installed.
func indexHosts(environs ...[]string) (hosts []string) {
	for _, e := range slices.Concat(environs...) {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "PIP_") && !strings.HasPrefix(name, "UV_") || !strings.Contains(name, "INDEX") && !strings.HasSuffix(name, "FIND_LINKS") {
			continue
		}
		for address := range strings.FieldsSeq(value) {
			u, err := url.Parse(address[max(0, strings.Index(address, "http")):]) // uv has NAME=URL
			if err == nil && u.Host != "" {
				hosts = append(hosts, u.Host)
			}
		}
	}
	return append(hosts, "pypi.org", "files.pythonhosted.org")
}

// Holds say of each promise that the walls of tools give what keeps it here.
func (w *Walls) Holds() []sandbox.Hold {
	if w == nil {
		return nil
	}
	holds := sandbox.New(w.tools.Policy, w.System).Holds()
	for i, h := range holds {
		if w.box == nil || h.Promise == sandbox.OwnFiles && !w.keepsOwn() {
			holds[i].By, holds[i].Lacks = "", cmp.Or(w.Lacks, h.Lacks)
		}
	}
	return holds
}

// keepsOwn says whether boxes keep tools off the agent's own files. With an open posture
// only bubblewrap does: Landlock could do it only by letting nobody make a file beside
// the home.
func (w *Walls) keepsOwn() bool { return w.Posture != config.Open || w.System.Mounts() }

// Unwalled says that the walls which the posture of the home promises do not stand.
func (s *Setup) Unwalled() error {
	w, err := s.Walls()
	switch {
	case err != nil || w == nil || w.System.Mounts():
		return err
	case w.Posture == config.Open:
		return errors.New("posture: open keeps tools off the agent's own files by bubblewrap alone, so that they can write its memory, rules and keys: " + w.Lacks)
	case !w.System.Confines():
		return fmt.Errorf("posture: %s, but tools can write the agent's own files, as this kernel has no Landlock, and %s", w.Posture, w.Lacks)
	}
	return nil
}

// missing are the promises that nothing keeps, and what would bring them.
func (w *Walls) missing() (list []string) {
	for _, h := range w.Holds() {
		if h.By == "" {
			list = append(list, string(h.Promise)+": "+h.Lacks)
		}
	}
	return list
}

// String is what holds, in a few words: "" without walls.
func (w *Walls) String() string {
	if w == nil {
		return ""
	}
	var by, not []string
	for _, h := range w.Holds() {
		switch {
		case h.By == "":
			not = append(not, string(h.Promise))
		case !slices.Contains(by, h.By):
			by = append(by, h.By)
		}
	}
	text := string(w.Posture)
	if len(by) > 0 {
		text += " by " + strings.Join(by, ", ")
	}
	if len(not) > 0 {
		text += "; not kept: " + strings.Join(not, ", ")
	}
	return text
}
