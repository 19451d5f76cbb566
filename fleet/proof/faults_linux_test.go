package proof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rouse/fleet/dev"
	"rouse/fleet/store"
)

// proxy is the network between a worker and a server, which can be cut.
type proxy struct {
	net.Listener
	network, to string
	gate        sync.RWMutex // held while it is cut: then nothing goes through, and nobody is told

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, network, address string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, network: network, to: address}
	t.Cleanup(func() { l.Close(); p.reset() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.join(in)
		}
	}()
	return p
}

func (p *proxy) join(in net.Conn) {
	out, err := net.Dial(p.network, p.to)
	if err != nil {
		in.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, in, out)
	p.mu.Unlock()
	go p.copy(in, out)
	p.copy(out, in)
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	_, _ = io.Copy(gated{to, &p.gate}, from)
}

// gated is a connection that waits while it is cut.
type gated struct {
	net.Conn
	gate *sync.RWMutex
}

func (g gated) Write(b []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Conn.Write(b)
}

// reset ends all connections.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// member is a worker, as a machine of its own.
type member struct {
	settings
	small   bool     // it has a disk of its own
	links   []*proxy // to the store, and to Temporal
	command func() *exec.Cmd
	cmd     *exec.Cmd
	out     *os.File
}

// cluster is a fleet in which things go wrong.
type cluster struct {
	testing.TB
	dir     string
	seed    uint64
	rand    *rand.Rand
	pg      *dev.Server
	options []string
	temp    *dev.Temporal
	world   *World
	ttl     time.Duration
	members []*member
	deaths  []Death
	met     map[string]int
	base    string // the clock's: see [clock]
}

func newCluster(t testing.TB) *cluster {
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("FLEET_PROOF_SEED"); given != "" {
		seed, _ = strconv.ParseUint(given, 10, 64)
	}
	t.Logf("FLEET_PROOF_SEED=%d", seed)
	dir, err := os.MkdirTemp("/tmp", "rp") // a socket's path is short
	c := &cluster{TB: t, dir: dir, seed: seed, rand: rand.New(rand.NewPCG(seed, 2)), met: map[string]int{}, options: []string{"-c", "max_connections=200", "-c", "fsync=off", "-c", "shared_preload_libraries=pg_stat_statements"}}
	c.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c.must(os.Chmod(dir, 0o755)) // as root the server is another user's
	c.pg, err = dev.Start(t.Context(), filepath.Join(dir, "pg"), c.options...)
	if errors.Is(err, dev.ErrMissing) {
		t.Skip(err)
	}
	c.must(err)
	t.Cleanup(func() { c.pg.Stop() })
	s := c.store()
	defer s.Close()
	_, err = s.Migrate(t.Context())
	c.must(err)
	c.watch()
	c.world = NewWorld(t, dir, seed, 2)
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) store() *store.Store {
	c.Helper()
	s, err := store.Open(c.Context(), c.pg.DSN)
	c.must(err)
	return s
}

// link is a way to a server for one member alone.
func (c *cluster) link(m *member, network, address, form string) string {
	p := newProxy(c.TB, network, address)
	m.links = append(m.links, p)
	return fmt.Sprintf(form, p.Addr())
}

func (m *member) start() error {
	m.cmd = m.command()
	m.cmd.Stdout, m.cmd.Stderr = m.out, m.out
	return m.cmd.Start()
}

// tree are the processes of a member, itself first.
func (m *member) tree() []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	all := []int{m.cmd.Process.Pid}
	for n := 0; n < len(all); n++ {
		all = append(all, children[all[n]]...)
	}
	return all
}

// signal sends one to all processes of a member. What they start meanwhile gets it too.
func (m *member) signal(s syscall.Signal) {
	for had := -1; had != len(m.tree()); {
		all := m.tree()
		had = len(all)
		for _, pid := range all {
			_ = syscall.Kill(pid, s)
		}
	}
}

// stop ends a member at once.
func (m *member) stop() {
	m.signal(syscall.SIGSTOP)
	m.signal(syscall.SIGKILL)
	_ = m.cmd.Wait()
}

// held are the homes that a worker has.
func (c *cluster) held(who string) map[string]int64 {
	s := c.store()
	defer s.Close()
	all, err := s.Homes(c.Context())
	c.must(err)
	held := map[string]int64{}
	for _, h := range all {
		if h.Holder == who {
			held[h.Name] = h.Epoch
		}
	}
	return held
}

// dies lets a member die or be gone by what do does, for a time.
func (c *cluster) dies(m *member, do func()) {
	do()
	c.deaths = append(c.deaths, Death{m.Name, time.Now(), c.held(m.Name)})
}

// leases is a time of about so many leases.
func (c *cluster) leases(from, to float64) time.Duration {
	return time.Duration((from + c.rand.Float64()*(to-from)) * float64(c.ttl))
}

// faults are what can go wrong with a member. Each ends when all is well again.
func (c *cluster) faults() map[string]func(*member) {
	rest := func(from, to float64) { time.Sleep(c.leases(from, to)) }
	down := func(m *member, do func()) {
		c.dies(m, do)
		rest(0, 2.5)
		c.must(m.start())
	}
	stopped := func(m *member, signal func(syscall.Signal)) {
		c.dies(m, func() { signal(syscall.SIGSTOP) })
		rest(1.2, 2.5)
		signal(syscall.SIGCONT)
	}
	back := func(p *proxy) {
		rest(1.3, 2.5)
		p.gate.Unlock()
	}
	all := map[string]func(*member){
		"SIGKILL": func(m *member) { // its cycles hear of it
			down(m, func() { _ = m.cmd.Process.Kill(); _ = m.cmd.Wait() })
		},
		"machine lost": func(m *member) {
			down(m, func() {
				m.stop()
				entries, err := os.ReadDir(m.Dir)
				for _, e := range entries {
					err = cmp.Or(err, os.RemoveAll(filepath.Join(m.Dir, e.Name())))
				}
				c.must(err)
			})
		},
		"machine restarted": func(m *member) { down(m, m.stop) },
		"SIGSTOP of all":    func(m *member) { stopped(m, m.signal) },
		"SIGSTOP of the worker": func(m *member) { // its cycles go on while they may
			stopped(m, func(s syscall.Signal) { _ = m.cmd.Process.Signal(s) })
		},
		"cut off from the store": func(m *member) {
			c.dies(m, m.links[0].gate.Lock)
			back(m.links[0])
		},
		"reset and cut off from a store": func(m *member) {
			c.dies(m, func() { m.links[0].reset(); m.links[0].gate.Lock() })
			back(m.links[0])
		},
		"Postgres crashed": func(*member) {
			c.pg.Kill()
			var err error
			c.pg, err = dev.Start(c.Context(), filepath.Join(c.dir, "pg"), c.options...)
			c.must(err)
		},
		"clock off by an hour": func(m *member) {
			m.stop()
			c.set(m, time.Hour*time.Duration(2*c.rand.Int64N(2)-1))
			c.must(m.start())
			rest(1, 2)
			m.stop()
			c.set(m, 0)
			c.must(m.start())
		},
	}
	if c.temp != nil {
		delete(all, "clock off by an hour") // these programs have the machine's
		all["cut off from Temporal"] = func(m *member) {
			m.links[1].gate.Lock()
			back(m.links[1])
		}
		all["Temporal crashed"] = func(*member) {
			c.temp.Kill()
			var err error
			c.temp, err = dev.StartTemporal(c.Context(), filepath.Join(c.dir, "temporal"))
			c.must(err)
		}
	}
	if i := slices.IndexFunc(c.members, func(m *member) bool { return m.small }); i >= 0 {
		all["disk full"] = func(*member) {
			c.must(c.members[i].resize(0))
			rest(1, 2)
			c.must(c.members[i].resize(roomy))
		}
	}
	return all
}

const roomy = 2 << 30

// shrink gives a member a disk of its own, where that may be done.
func (c *cluster) shrink(m *member) {
	if err := unix.Mount("tmpfs", m.Dir, "tmpfs", 0, fmt.Sprint("size=", roomy)); err != nil {
		c.Logf("no disk will be full: %v", err)
		return
	}
	m.small = true
	c.Cleanup(func() { _ = unix.Unmount(m.Dir, unix.MNT_DETACH) })
}

// resize gives that disk a size, which for 0 is hardly more than is used.
func (m *member) resize(size int64) (err error) {
	for range 100 { // it fails where more is used meanwhile
		var st unix.Statfs_t
		_ = unix.Statfs(m.Dir, &st)
		to := cmp.Or(size, int64(st.Blocks-st.Bfree)*st.Bsize+16<<10)
		if err = unix.Mount("tmpfs", m.Dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprint("size=", to)); err == nil {
			break
		}
	}
	return err
}

// wreck lets things go wrong until the time is over, each kind once before any twice.
func (c *cluster) wreck(until time.Time) {
	all := c.faults()
	var deck []string
	for time.Now().Before(until) {
		if len(deck) == 0 {
			deck = slices.Sorted(maps.Keys(all))
			c.rand.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		m := c.members[c.rand.IntN(len(c.members))]
		c.met[deck[0]]++
		all[deck[0]](m)
		deck = deck[1:]
		time.Sleep(c.leases(0.1, 0.6))
	}
}
