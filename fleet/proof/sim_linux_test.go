package proof

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/agent/schedule"
	"rouse/fleet/checkout"
	"rouse/fleet/daemon"
	"rouse/fleet/dev"
	"rouse/fleet/flow"
	"rouse/fleet/store"
	"rouse/fleet/worker"
	"rouse/home"
	"rouse/internal/sweep"
)

// as is what this program is when it is started as a worker.
const as = "FLEET_PROOF_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(as); text != "" {
		var c settings
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			err = c.run(context.Background())
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// settings are what a simulated worker is made of.
type settings struct {
	DSN, Temporal, Name, Dir, Rouse string // without Temporal it looks itself what is due
	TTL                             time.Duration
	Homes                           int // awake at once
}

// clock is that of a file beside a program: "BASE SPEED OFF", a time in nanoseconds since which it
// is so many times as fast, and how far off it is.
func clock(path string) (now func() time.Time, off time.Duration, err error) {
	data, err := os.ReadFile(path)
	var base, speed int64
	if err == nil {
		_, err = fmt.Sscan(string(data), &base, &speed, (*int64)(&off))
	}
	return func() time.Time { return time.Unix(0, base+(time.Now().UnixNano()-base)*speed+int64(off)) }, off, err
}

// clocked is what the program's main becomes: it has such a clock.
const clocked = `func main() {
	path, _ := os.Executable()
	data, err := os.ReadFile(path + ".clock")
	var base, speed, off int64
	if _, failed := fmt.Sscan(string(data), &base, &speed, &off); err != nil || failed != nil {
		panic(fmt.Sprint(err, failed))
	}
	process(func() time.Time { return time.Unix(0, base+(time.Now().UnixNano()-base)*speed+off) })
}`

// build makes the program rouse, the real one but for its clock and its version.
func (c *cluster) build(name, version string) (path string) {
	c.Helper()
	path = filepath.Join(c.dir, name)
	root, err := filepath.Abs("../..")
	c.must(err)
	replace := map[string]string{}
	for file, swap := range map[string][2]string{
		"main.go":    {"func main() { process(time.Now) }", clocked},
		"version.go": {"func version() string {", "func version() string {\n\tif os.Args != nil {\n\t\treturn \"" + version + "\"\n\t}"},
	} {
		file = filepath.Join(root, "cmd/rouse", file)
		text, err := os.ReadFile(file)
		c.must(err)
		if !strings.Contains(string(text), swap[0]) {
			c.Fatalf("%s has no %s", file, swap[0])
		}
		replace[file] = path + filepath.Base(file)
		changed := strings.Replace(string(text), swap[0], swap[1], 1)
		if !strings.Contains(changed, "\t\"os\"\n") {
			changed = strings.Replace(changed, "import (\n", "import (\n\t\"os\"\n", 1)
		}
		c.must(os.WriteFile(replace[file], []byte(changed), 0o600))
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": replace})
	c.must(os.WriteFile(path+".json", overlay, 0o600))
	cmd := exec.Command("go", "build", "-overlay", path+".json", "-ldflags=-s -w", "-o", path, "./cmd/rouse")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	return path
}

// run wakes homes that are due, by a clock that is right, until it is killed.
func (c settings) run(ctx context.Context) error {
	s, err := store.Open(ctx, c.DSN)
	for ; err != nil; s, err = store.Open(ctx, c.DSN) {
		time.Sleep(c.TTL / 10)
	}
	w, off, err := c.worker(s)
	if err != nil {
		return err
	}
	if c.Temporal != "" {
		return c.daemon(ctx, w)
	}
	var mu sync.Mutex
	later, room := map[string]time.Time{}, make(chan struct{}, c.Homes)
	for ; ; time.Sleep(200 * time.Millisecond) {
		asked, cancel := context.WithTimeout(ctx, c.TTL)
		all, err := s.Homes(asked)
		cancel()
		if err != nil {
			fmt.Println("homes:", err)
		}
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, h := range all {
			now := time.Now()
			mu.Lock()
			wait := now.Before(later[h.Name]) || h.Holder != "" && h.Holder != c.Name && h.Until.After(now) || h.State.Next != nil && h.State.Next.After(w.Now().Add(-off))
			if !wait {
				later[h.Name] = now.Add(time.Hour)
			}
			mu.Unlock()
			if wait {
				continue
			}
			room <- struct{}{}
			go func() {
				_, err := w.Wake(ctx, h.Name)
				if err != nil {
					fmt.Println("wake:", err)
				}
				mu.Lock()
				later[h.Name] = time.Now().Add(200 * time.Millisecond)
				mu.Unlock()
				<-room
			}()
		}
	}
}

// waker is a [worker.Worker] for package flow.
type waker struct{ *worker.Worker }

func (w waker) Wake(ctx context.Context, home string) (flow.Next, error) {
	next, err := w.Worker.Wake(ctx, home)
	return flow.Next(next), err
}

// daemon is what the verb worker does, but for the length of a lease.
func (c settings) daemon(ctx context.Context, w *worker.Worker) error {
	t, err := flow.Open(c.Temporal, "", w.Store.ID, w.Log)
	if err != nil {
		return err
	}
	d := &daemon.Daemon{Store: w.Store, Temporal: t, Homes: c.Homes, Say: w.Log, Shown: store.Worker{Name: c.Name}, Waker: waker{w}}
	return d.Run(ctx, ctx)
}

func (c settings) worker(s *store.Store) (w *worker.Worker, off time.Duration, err error) {
	w = &worker.Worker{Store: s, Name: c.Name, Dir: c.Dir, Rouse: c.Rouse, TTL: c.TTL, Log: func(line string) { fmt.Println(time.Now().Format("05.000"), line) }}
	w.Now, off, err = clock(c.Rouse + ".clock")
	return w, off, err
}

// push makes the homes, whose slots are spread over their interval, and puts them into the store.
func (c *cluster) push(homes int, every time.Duration) map[string]schedule.Entry {
	c.Helper()
	s := c.store()
	defer s.Close()
	all := map[string]schedule.Entry{}
	for n := range homes {
		h := home.Home{Dir: filepath.Join(c.dir, fmt.Sprint("home", n))}
		at, cron := n*int(every/time.Second)/homes, ""
		if m := int(every / time.Minute); m > 0 {
			cron = fmt.Sprintf("%d %d-59/%d * * * *", at%60, at/60, m)
		} else {
			cron = fmt.Sprintf("%d-59/%d * * * * *", at, every/time.Second)
		}
		all[filepath.Base(h.Dir)] = c.world.Make(h.Dir, n, cron)
		_, err := checkout.Push(c.Context(), s, h, "")
		c.must(cmp.Or(err, os.RemoveAll(h.Dir)))
	}
	return all
}

// set lets the clock of a member be so far off.
func (c *cluster) set(m *member, off time.Duration) {
	c.must(os.WriteFile(m.Rouse+".clock", fmt.Append(nil, c.base, " ", int64(off)), 0o600))
}

// join adds a worker, whose program is a link to another one.
func (c *cluster) join(name, program string) *member {
	dir := filepath.Join(c.dir, name)
	m := &member{settings: settings{Name: name, Dir: dir, Rouse: dir + ".rouse", TTL: c.ttl, Homes: 2}}
	c.must(os.Mkdir(dir, 0o700))
	c.must(os.Link(program, m.Rouse))
	c.set(m, 0)
	m.DSN = c.link(m, "unix", filepath.Join(c.dir, "pg/.s.PGSQL.5432"), "postgres://rouse@%s/postgres?sslmode=disable&connect_timeout=5")
	if c.temp != nil {
		m.Temporal = c.link(m, "tcp", c.temp.Address, "%s")
	}
	m.command = func() *exec.Cmd {
		if c.temp != nil && sweep.Full() {
			return exec.Command(filepath.Join(c.dir, "rouse-fleet"), "worker", "--dsn", m.DSN, "--temporal", m.Temporal, "--name", name, "--dir", dir, "--rouse", m.Rouse)
		}
		text, _ := json.Marshal(m.settings)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), as+"="+string(text))
		return cmd
	}
	var err error
	m.out, err = os.Create(dir + ".out")
	c.must(err)
	c.members = append(c.members, m)
	return m
}

// plan is how much of it is done.
type plan struct {
	homes, slots int
	every        time.Duration // as homes see it
	ttl          time.Duration
	kinds        int   // of faults that must be met
	speed        int64 // how many times as fast as the machine's clock theirs is
}

// TestSimulated: three workers wake homes by clocks that are fast, while things go wrong.
func TestSimulated(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.prove(sweep.Of(plan{8, 60, time.Minute, time.Second, 3, 60}, plan{40, 600, 5 * time.Minute, 2 * time.Second, 9, 60}, plan{300, 20000, 15 * time.Minute, 3 * time.Second, 9, 60}))
}

// TestReal: the same by the machine's clock, with Temporal.
func TestReal(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.temporal()
	c.prove(sweep.Of(plan{4, 8, 4 * time.Second, 2 * time.Second, 1, 1}, plan{30, 60, 30 * time.Second, 5 * time.Second, 5, 1}, plan{300, 600, 5 * time.Minute, 30 * time.Second, 9, 1}))
}

func (c *cluster) temporal() {
	var err error
	c.temp, err = dev.StartTemporal(c.Context(), filepath.Join(c.dir, "temporal"))
	if errors.Is(err, dev.ErrNoTemporal) {
		c.Skip(err)
	}
	c.must(err)
	c.Cleanup(func() { c.temp.Stop() })
}

// prove lets things go wrong for as many slots as it is planned, and has all of it checked.
func (c *cluster) prove(p plan) {
	c.ttl = p.ttl
	news := c.build("rouse-new", "v2.0.0")
	old := news
	if sweep.Of(false, true, true) {
		old = c.build("rouse-old", "v1.0.0")
	}
	if c.temp != nil && sweep.Full() {
		out, err := exec.Command("go", "build", "-o", c.dir, "../cmd/rouse-fleet").CombinedOutput()
		if err != nil {
			c.Fatalf("%v: %s", err, out)
		}
	}
	entries := c.push(p.homes, p.every)
	began := time.Now()
	c.base = fmt.Sprint(began.UnixNano(), " ", p.speed)
	for n, name := range []string{"a", "b", "c"} {
		m := c.join(name, []string{news, old, news}[n])
		if n == 2 {
			c.shrink(m)
		}
		c.must(m.start())
		c.Cleanup(m.stop)
	}
	rounds := (p.slots + p.homes - 1) / p.homes
	c.wreck(began.Add(time.Duration(rounds) * p.every / time.Duration(p.speed)))
	for _, m := range c.members { // the last fault: all of them
		m.stop()
	}
	h := c.settle(p, news)
	h.Deaths = c.deaths
	for n := range h.Homes {
		h.Homes[n].Schedule = entries[h.Homes[n].Name]
	}
	c.report(h, p, began)
}

// settle has a last worker, whose clock is past the next slot, wake all homes until nothing is left
// to be done, and reads what there is.
func (c *cluster) settle(p plan, program string) History {
	m := c.join("last", program)
	m.TTL = 30 * time.Second
	c.set(m, 2*p.every)
	s := c.store()
	defer s.Close()
	w, _, err := m.worker(s)
	c.must(err)
	until := w.Now()
	all, err := s.Homes(c.Context())
	c.must(err)
	var wg sync.WaitGroup
	room := make(chan struct{}, 2)
	for _, h := range all {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			c.last(s, w, h.Name, until)
		})
	}
	wg.Wait()
	h := c.collect(s)
	h.Until, h.Last = until, m.Name
	c.world.into(&h)
	return h
}

// last wakes a home until all its slots up to a time had their turn.
func (c *cluster) last(s *store.Store, w *worker.Worker, name string, until time.Time) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		_, err := w.Wake(c.Context(), name)
		h, failed := s.Home(c.Context(), name)
		switch {
		case err != nil || failed != nil:
			c.Errorf("%s: %v, %v", name, err, failed)
		case h.Holder == "" && h.State.Problem == "" && h.State.Next != nil && h.State.Next.After(until):
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	h, _ := s.Home(c.Context(), name)
	c.Errorf("%s never came to rest: %+v", name, h)
}

// report checks a history, and says what it came to.
func (c *cluster) report(h History, p plan, began time.Time) {
	r := Check(h)
	slots := 0
	for _, n := range r.Slots {
		slots += n
	}
	took := "none"
	if n := len(r.Takeover); n > 0 {
		took = fmt.Sprintf("%d, median %.1f s, at most %.1f s", n, r.Takeover[n/2].Seconds(), r.Takeover[n-1].Seconds())
	}
	c.Logf("seed %d: %d homes, %d slots %v, %d cycles that made calls, %d versions, %d effects, %d calls unknown of which %d ran; lease %s, taken over: %s; faults %v; %s",
		c.seed, len(h.Homes), slots, r.Slots, r.Cycles, r.Versions, r.Effects, r.Unknown, r.Overlaps, c.ttl, took, c.met, time.Since(began).Round(time.Second))
	for _, f := range r.Faults[:min(len(r.Faults), 20)] {
		c.Error(f)
	}
	if len(r.Faults) > 0 {
		c.Errorf("%d faults; again by FLEET_PROOF_SEED=%d", len(r.Faults), c.seed)
		for _, m := range c.members {
			text, _ := os.ReadFile(m.Dir + ".out")
			_ = os.WriteFile(filepath.Join(os.TempDir(), "fleet-proof-"+m.Name+".out"), text, 0o600)
		}
	}
	if slots < p.slots*9/10 || r.Effects == 0 || len(c.met) < p.kinds {
		c.Errorf("that proves little: %d of %d slots, %d kinds of faults of %d", slots, p.slots, len(c.met), p.kinds)
	}
}
