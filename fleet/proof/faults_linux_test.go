package proof

import (
	"errors"
	"fmt"
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

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"rouse/fleet/dev"
	"rouse/fleet/store"
)

// proxy is the network between a worker and a server, which can be cut.
type proxy struct {
	net.Listener
	to   func() (net.Conn, error)
	gate sync.RWMutex // held while it is cut: then nothing goes through, and nobody is told

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, network, address string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: func() (net.Conn, error) { return net.Dial(network, address) }}
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
	out, err := p.to()
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
	for b := make([]byte, 64<<10); ; {
		n, err := from.Read(b)
		p.gate.RLock()
		_, failed := to.Write(b[:n])
		p.gate.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
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
	name, dir string
	links     []*proxy // to the store, and to Temporal
	command   func() *exec.Cmd
	cmd       *exec.Cmd
	out       *os.File
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
	c.must(Watch(t.Context(), c.pg.DSN))
	c.world = NewWorld(dir, seed, 2)
	t.Cleanup(c.world.Close)
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
	held := map[string]int64{}
	db, err := pgx.Connect(c.Context(), c.pg.DSN)
	if err != nil {
		return held
	}
	defer db.Close(c.Context())
	rows, _ := db.Query(c.Context(), `select name, epoch from rouse.homes where holder = $1`, who)
	for rows.Next() {
		var name string
		var epoch int64
		c.must(rows.Scan(&name, &epoch))
		held[name] = epoch
	}
	return held
}

// dies lets a member die or be gone by what do does, for a time.
func (c *cluster) dies(m *member, do func()) {
	do()
	c.deaths = append(c.deaths, Death{m.name, time.Now(), c.held(m.name)})
}

// leases is a time of about so many leases.
func (c *cluster) leases(from, to float64) time.Duration {
	return time.Duration((from + c.rand.Float64()*(to-from)) * float64(c.ttl))
}

// faults are what can go wrong with a member. Each ends when all is well again.
func (c *cluster) faults() map[string]func(*member) {
	again := func(m *member) { c.must(m.start()) }
	cut := func(m *member, p *proxy, reset bool) {
		c.dies(m, func() {
			if reset {
				p.reset()
			}
			p.gate.Lock()
		})
		time.Sleep(c.leases(1.3, 2.5))
		p.gate.Unlock()
	}
	all := map[string]func(*member){
		"SIGKILL": func(m *member) { // its cycles hear of it
			c.dies(m, func() { _ = m.cmd.Process.Kill(); _ = m.cmd.Wait() })
			time.Sleep(c.leases(0, 2.5))
			again(m)
		},
		"machine lost": func(m *member) {
			c.dies(m, m.stop)
			entries, _ := filepath.Glob(m.dir + "/*")
			hidden, _ := filepath.Glob(m.dir + "/.[a-z]*")
			for _, path := range append(entries, hidden...) {
				c.must(os.RemoveAll(path))
			}
			time.Sleep(c.leases(0, 2.5))
			again(m)
		},
		"machine restarted": func(m *member) {
			c.dies(m, m.stop)
			time.Sleep(c.leases(0, 2.5))
			again(m)
		},
		"SIGSTOP of all": func(m *member) {
			c.dies(m, func() { m.signal(syscall.SIGSTOP) })
			time.Sleep(c.leases(1.2, 2.5))
			m.signal(syscall.SIGCONT)
		},
		"SIGSTOP of the worker": func(m *member) { // its cycles go on while they may
			c.dies(m, func() { _ = m.cmd.Process.Signal(syscall.SIGSTOP) })
			time.Sleep(c.leases(1.2, 2.5))
			_ = m.cmd.Process.Signal(syscall.SIGCONT)
		},
		"cut off from the store":         func(m *member) { cut(m, m.links[0], false) },
		"reset and cut off from a store": func(m *member) { cut(m, m.links[0], true) },
		"Postgres crashed": func(*member) {
			c.pg.Kill()
			var err error
			c.pg, err = dev.Start(c.Context(), filepath.Join(c.dir, "pg"), c.options...)
			c.must(err)
		},
		"clock off by an hour": func(m *member) {
			m.stop()
			c.must(os.WriteFile(m.clock(), []byte(c.base+" "+strconv.FormatInt(int64(time.Hour)*(2*c.rand.Int64N(2)-1), 10)), 0o600))
			again(m)
			time.Sleep(c.leases(1, 2))
			m.stop()
			c.must(os.WriteFile(m.clock(), []byte(c.base+" 0"), 0o600))
			again(m)
		},
	}
	if c.temp != nil {
		delete(all, "clock off by an hour") // these programs have the machine's
		all["cut off from Temporal"] = func(m *member) {
			m.links[1].gate.Lock()
			time.Sleep(c.leases(1.3, 2.5))
			m.links[1].gate.Unlock()
		}
		all["Temporal crashed"] = func(*member) {
			c.temp.Kill()
			var err error
			c.temp, err = dev.StartTemporal(c.Context(), filepath.Join(c.dir, "temporal"))
			c.must(err)
		}
	}
	for _, m := range c.members {
		if full, err := tight(m.dir, 0); err == nil && full {
			all["disk full"] = func(*member) {
				_, err := tight(m.dir, -1)
				c.must(err)
				time.Sleep(c.leases(1, 2))
				_, err = tight(m.dir, roomy)
				c.must(err)
			}
		}
	}
	return all
}

const roomy = 2 << 30

// small gives a member a disk of its own, where that may be done.
func (c *cluster) small(m *member) {
	if err := unix.Mount("tmpfs", m.dir, "tmpfs", 0, fmt.Sprint("size=", roomy)); err != nil {
		c.Logf("no disk will be full: %v", err)
		return
	}
	c.Cleanup(func() { _ = unix.Unmount(m.dir, unix.MNT_DETACH) })
}

// tight says whether a folder is such a disk, and gives it another size: -1 is hardly more than is used.
func tight(dir string, size int64) (is bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Type != unix.TMPFS_MAGIC || size == 0 {
		return st.Type == unix.TMPFS_MAGIC && int64(st.Blocks)*st.Bsize == roomy, err
	}
	for range 100 { // it fails where more is used meanwhile
		to := size
		if size < 0 {
			_ = unix.Statfs(dir, &st)
			to = int64(st.Blocks-st.Bfree)*st.Bsize + 16<<10
		}
		if err = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprint("size=", to)); err == nil {
			break
		}
	}
	return true, err
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
