package share_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rouse/fleet/checkout"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/share"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/scratchpad/observation"
)

func TestMain(m *testing.M) { os.Exit(devtest.M{M: m}.Run()) }

// rig is a fleet with the homes moon, which has observations, and sun.
type rig struct {
	*testing.T
	*store.Store
	dsn  string
	moon home.Home
	sun  store.Home
	dir  string // of sun, where a worker wakes it
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, dsn: devtest.Database(t), moon: home.Home{Dir: t.TempDir() + "/moon"}, dir: t.TempDir() + "/sun"}
	var err error
	if r.Store, err = store.Open(t.Context(), r.dsn); err == nil {
		t.Cleanup(r.Store.Close)
		_, err = r.Migrate(t.Context())
	}
	r.must(err)
	for _, dir := range []string{r.moon.Dir, r.dir} {
		r.must(cmp.Or(os.MkdirAll(dir+"/scratchpad", 0o700), os.WriteFile(dir+"/rules.md", []byte("You are Rouse."), 0o600)))
	}
	r.push(home.Home{Dir: r.dir})
	r.sun, err = r.Home(t.Context(), "sun")
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) push(h home.Home) {
	r.Helper()
	_, err := checkout.Push(r.Context(), r.Store, h, "")
	r.must(err)
}

// made has a tool of moon make observations of a size, and gives them.
func (r *rig) made(n int, size int64) (list []observation.Entry) {
	r.Helper()
	s, err := observation.Open(r.moon.Memory(), observation.Options{})
	r.must(err)
	defer s.Close()
	turn, err := s.Begin(fmt.Sprintf("20261122_%06d", n), proc.Self())
	r.must(err)
	for range n {
		w := turn.Create(observation.Origin{Step: 1, Executor: "shell"})
		_, err := io.CopyN(w, rand.NewChaCha8([32]byte{byte(len(list))}), size)
		r.must(err)
		e, err := w.Commit(nil)
		r.must(err)
		list = append(list, e)
	}
	r.must(turn.End())
	return list
}

// lay lays what sun may read, and gives its ids.
func (r *rig) lay() (ids []string) {
	r.Helper()
	r.must(share.Lay(r.Context(), r.Store, r.sun.ID, r.dir))
	for _, e := range (&observation.Shared{Dir: home.Home{Dir: r.dir}.Memory()}).List() {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestBytes: a large binary comes to another home byte for byte, in constant memory; prune
// leaves it while it is shared, and takes it when it is not.
func TestBytes(t *testing.T) {
	r, size, ctx := newRig(t), int64(64<<20), t.Context()
	if sweep.Full() {
		size = store.MaxShared
	}
	e := r.made(1, size)[0]
	r.push(r.moon)
	x, err := share.Observation(ctx, r.Store, e.ID, "moon", []string{"sun"}, time.Hour)
	r.must(err)
	_, err = r.Prune(ctx, store.Prune{})
	r.must(err)
	if ids := r.lay(); len(ids) != 1 || ids[0] != "fleet:"+x.ID {
		t.Fatalf("sun reads %q, not %s", ids, x.ID)
	}
	c, err := (&observation.Shared{Dir: home.Home{Dir: r.dir}.Memory()}).Get("fleet:" + x.ID)
	r.must(err)
	defer c.Close()
	sum := sha256.New()
	n, err := c.WriteTo(sum)
	if got := hex.EncodeToString(sum.Sum(nil)); err != nil || n != size || got != e.SHA256 || strings.Join(c.From, ", ") != "unknown, private, fleet moon" { // no journal says
		t.Errorf("%d bytes of %d, %s of %s, from %q: %v", n, size, got, e.SHA256, c.From, err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if t.Logf("%d MiB of memory", m.HeapSys>>20); m.HeapSys > 400<<20 {
		t.Error("that is not constant")
	}
	ended, err := r.EndShared(ctx, x.ID, 0)
	r.must(err)
	p, err := r.Prune(ctx, store.Prune{})
	r.must(err)
	if ids := r.lay(); !ended || len(ids) > 0 || p.Contents != 1 {
		t.Errorf("ended %v, %q are left, %+v", ended, ids, p)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "scratchpad/fleet", x.ID)); err == nil {
		t.Error("its file is left")
	}
}

// TestRules: a rule shares each observation once, the newest first, within its bounds, and
// nothing under a lease that is lost. What expires is gone.
func TestRules(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	old := r.made(1, 100)[0]
	r.push(r.moon)
	id, err := r.AddRule(ctx, store.Rule{Home: "moon", Tool: "shell", With: []string{"sun"}, TTL: 3600})
	r.must(err)
	list := r.made(store.MaxDay+5, 100)
	l, err := r.Acquire(ctx, "moon", "a", time.Hour, false)
	r.must(err)
	for range 2 {
		r.must(share.Rules(ctx, r.Store, l, r.moon.Dir))
	}
	all, err := r.Shared(ctx)
	r.must(err)
	has := func(id string) bool {
		return slices.ContainsFunc(all, func(x store.Shared) bool { return x.Observation == id })
	}
	if ids := r.lay(); len(all) != store.MaxDay || has(old.ID) || has(list[0].ID) || !has(list[len(list)-1].ID) || all[0].Rule != id || len(ids) != len(all) {
		t.Errorf("%d are shared, and %d read, of %d", len(all), len(ids), len(list))
	}
	c, err := pgx.Connect(ctx, r.dsn)
	r.must(err)
	defer c.Close(context.WithoutCancel(ctx))
	sql := func(sql string) {
		t.Helper()
		_, err := c.Exec(ctx, sql)
		r.must(err)
	}
	sql(`update rouse.shared set made = made - interval '2 days', expires = clock_timestamp() + interval '1 minute', note = jsonb_set(note, '{bytes}', '42949673')`)
	if err := share.Rules(ctx, r.Store, l, r.moon.Dir); err == nil || !strings.Contains(err.Error(), "end some of what it shares") {
		t.Errorf("over 4 GiB: %v", err)
	}
	sql(`update rouse.shared set expires = clock_timestamp()`)
	if ids := r.lay(); len(ids) > 0 {
		t.Errorf("%d have expired, and are read", len(ids))
	}
	_, err = r.Acquire(ctx, "moon", "b", time.Hour, true)
	r.must(err)
	if err := share.Rules(ctx, r.Store, l, r.moon.Dir); !errors.Is(err, store.ErrLost) {
		t.Errorf("under an older epoch: %v", err)
	}
}
