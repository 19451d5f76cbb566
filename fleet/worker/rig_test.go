package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rouse/agent/model/modeltest"
	"rouse/fleet/checkout"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
	"rouse/fleet/worker"
	"rouse/home"
)

// as is a worker that this program is when it is started as one: it wakes the home until it
// is killed.
const as = "FLEET_TEST_WORKER"

var bin string // the folder of the real rouse

func TestMain(m *testing.M) {
	if text := os.Getenv(as); text != "" {
		loop(text)
	}
	dir, err := os.MkdirTemp("", "rouse-bin")
	if err == nil {
		c := exec.Command("go", "build", "-o", dir, "./cmd/rouse")
		c.Dir = "../.."
		out, failed := c.CombinedOutput()
		bin, err = dir, failed
		if failed != nil {
			err = fmt.Errorf("%w: %s", failed, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := devtest.M{M: m}.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// config is what a worker is made of, for one in a process of its own.
type config struct {
	DSN, Name, Dir, Keys, Rouse string
	TTL                         time.Duration
}

func (c config) worker(ctx context.Context) (*worker.Worker, error) {
	s, err := store.Open(ctx, c.DSN)
	return &worker.Worker{Store: s, Name: c.Name, Dir: c.Dir, Keys: c.Keys, Rouse: c.Rouse, TTL: c.TTL}, err
}

func loop(text string) {
	var c config
	ctx := context.Background()
	err := json.Unmarshal([]byte(text), &c)
	var w *worker.Worker
	if err == nil {
		w, err = c.worker(ctx)
	}
	for err == nil {
		next, failed := w.Wake(ctx, "moon")
		if failed != nil {
			fmt.Println(c.Name, failed)
		}
		time.Sleep(min(time.Until(next.At), 20*time.Millisecond))
	}
	fmt.Println(err)
	os.Exit(1)
}

// rig is a home in a fleet, with a model that has each cycle make calls, of which each adds a
// line of its own to the file effects, which is outside of the home.
type rig struct {
	t     *testing.T
	dir   string
	store *store.Store
	dsn   string
	keys  string
	calls int                  // of each cycle
	do    func(n int64) string // a command, beside that
	asked atomic.Int64         // calls
}

func newRig(t *testing.T, yaml string) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{t: t, dir: t.TempDir(), dsn: devtest.Database(t), calls: 1}
	var err error
	if r.store, err = store.Open(t.Context(), r.dsn); err == nil {
		t.Cleanup(r.store.Close)
		_, err = r.store.Migrate(t.Context())
	}
	r.must(err)
	model := modeltest.Answer(r.answer)
	t.Cleanup(model.Close)
	r.keys = filepath.Join(r.dir, "keys")
	env := "OPENAI_API_KEY=x\nOPENAI_BASE_URL=" + model.URL() + "\n"
	r.write("keys/.env", env)
	r.write("moon/.env", env)
	r.write("moon/rules.md", "You are Rouse.\n")
	r.write("moon/rouse.yaml", yaml)
	r.write("moon/workspace/many", "many")
	r.write("moon/workspace/big", strings.Repeat("x", 1<<20))
	old := time.Now().Add(-time.Hour)
	r.must(os.Chtimes(filepath.Join(r.dir, "moon/rouse.yaml"), old, old))
	r.push()
	return r
}

// often is a schedule with a slot that is due, and next to none after it.
const often = "schedule: {cron: '0 0 1 1 *', task: work}\n"

func (r *rig) push() {
	r.t.Helper()
	_, err := checkout.Push(r.t.Context(), r.store, home.Home{Dir: filepath.Join(r.dir, "moon")}, "moon")
	r.must(err)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	r.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func (r *rig) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(data)
}

// answer is the model.
func (r *rig) answer(req modeltest.Request) modeltest.Reply {
	if strings.Count(string(req.Body), `"role":"tool"`) >= r.calls {
		return modeltest.Reply{Action: json.RawMessage(`{"tool": "done", "args": {"summary": "ok"}}`)}
	}
	n := r.asked.Add(1)
	command := fmt.Sprintf("echo %d >>%s/effects", n, r.dir)
	if r.do != nil {
		command += "; " + r.do(n)
	}
	action, _ := json.Marshal(map[string]any{"tool": "shell", "args": map[string]string{"command": command}})
	return modeltest.Reply{Action: action}
}

// effects are the calls that ran, none of them twice.
func (r *rig) effects() int {
	r.t.Helper()
	lines := strings.Fields(r.read("effects"))
	n := len(lines)
	slices.Sort(lines)
	if len(slices.Compact(lines)) != n {
		r.t.Errorf("calls ran twice: %q", r.read("effects"))
	}
	return n
}

func (r *rig) config(name string) config {
	return config{DSN: r.dsn, Name: name, Dir: filepath.Join(r.dir, name), Keys: r.keys, Rouse: filepath.Join(bin, "rouse"), TTL: 30 * time.Second}
}

// worker is one in this process.
func (r *rig) worker(name string) *worker.Worker { return r.made(r.config(name)) }

func (r *rig) made(c config) *worker.Worker {
	w, err := c.worker(r.t.Context())
	r.must(err)
	r.t.Cleanup(w.Store.Close)
	w.Log = func(line string) { r.t.Log(c.Name + ": " + line) }
	return w
}

func (r *rig) wake(w *worker.Worker) worker.Next {
	r.t.Helper()
	next, err := w.Wake(r.t.Context(), "moon")
	r.must(err)
	return next
}

// until wakes the home until its newest cycle ended so.
func (r *rig) until(w *worker.Worker, outcome string) {
	r.t.Helper()
	r.await(outcome, func() bool { r.wake(w); return r.at().State.Outcome == outcome })
}

// calls60 is a worker in a process of its own that is in the middle of a long call, of which
// the file pid tells.
func (r *rig) calls60(name string, ttl time.Duration) *exec.Cmd {
	r.t.Helper()
	r.do = func(int64) string { return "echo $$ >" + r.dir + "/pid; sleep 60" }
	r.order("run", "--task", "work")
	c := r.config(name)
	c.TTL = ttl
	p := r.process(c)
	r.await("a call", func() bool { return r.read("pid") != "" })
	return p
}

// away cuts the store off, or with false lets it be reached again.
func (r *rig) away(is bool) {
	r.t.Helper()
	u, err := url.Parse(r.dsn)
	r.must(err)
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	c, err := pgx.Connect(r.t.Context(), u.String())
	r.must(err)
	defer c.Close(r.t.Context())
	_, err = c.Exec(r.t.Context(), fmt.Sprintf("alter database %s allow_connections %v", name, !is))
	if err == nil && is {
		_, err = c.Exec(r.t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
	} else if err == nil {
		r.store.Close() // whose connections are dead
		r.store, err = store.Open(context.Background(), r.dsn)
		r.t.Cleanup(r.store.Close)
	}
	r.must(err)
}

// process is a worker as one of its own.
func (r *rig) process(c config) *exec.Cmd {
	r.t.Helper()
	text, _ := json.Marshal(c)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), as+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	r.must(cmd.Start())
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// await waits until something holds, for a minute.
func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatal("waited for " + what)
		}
	}
}

func (r *rig) at() store.Home {
	r.t.Helper()
	h, err := r.store.Home(r.t.Context(), "moon")
	r.must(err)
	return h
}

// order orders something, and gives what came of it.
func (r *rig) order(argv ...string) (result func() store.Order) {
	r.t.Helper()
	return r.orderWith(argv, "")
}

func (r *rig) orderWith(argv []string, input string) (result func() store.Order) {
	r.t.Helper()
	id, err := r.store.Order(r.t.Context(), "moon", argv, []byte(input))
	r.must(err)
	return func() store.Order {
		o, err := r.store.OrderOf(r.t.Context(), id)
		r.must(err)
		return o
	}
}
