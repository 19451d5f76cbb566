package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rouse/agent/history"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

// folder is a version of a folder with some contents as its files.
func folder(t *testing.T, contents ...[]byte) (sums []string, manifest []byte) {
	dir := t.TempDir()
	for i, c := range contents {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), c, 0o600); err != nil {
			t.Error(err)
		}
	}
	v, err := (&history.Store{Of: "home", MaxFile: math.MaxInt64}).LookSince(dir, nil)
	if err == nil {
		for e := range v.All() {
			sums = append(sums, e.Is)
		}
		manifest, err = v.Frame()
	}
	if err != nil {
		t.Error(err)
	}
	return sums, manifest
}

// push makes a version of a home as a worker does.
func push(t *testing.T, s *store.Store, name string, contents ...[]byte) error {
	sums, manifest := folder(t, contents...)
	ctx := t.Context()
	l, err := s.Acquire(ctx, name, name, time.Hour, false)
	if err != nil {
		return err
	}
	u := s.Upload(l)
	missing, err := u.Missing(ctx, sums)
	for i, c := range contents {
		if err == nil && missing[sums[i]] {
			_, err = u.Add(ctx, bytes.NewReader(c))
		}
	}
	return errors.Join(err, u.Flush(ctx), s.Commit(ctx, l, store.Version{Maker: name, Manifest: manifest}))
}

// whole reads all that a version of a home names.
func whole(t *testing.T, s *store.Store, name string) error {
	h, err := s.Home(t.Context(), name)
	if err != nil {
		return err
	}
	manifest, _, err := s.Manifest(t.Context(), h.ID, 0)
	if err != nil {
		return err
	}
	v, err := history.Parse(manifest)
	if err != nil {
		return err
	}
	for e := range v.All() {
		r, err := s.Content(t.Context(), e.Is)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func sql(t *testing.T, dsn, text string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	must(t, err, "")
	defer c.Close(context.Background())
	_, err = c.Exec(t.Context(), text)
	must(t, err, "")
}

// TestPrune: what is old, not among the newest ten and of no slot of these days goes, with what only it
// had; the owner alone may remove more than that.
func TestPrune(t *testing.T) {
	dsn, s := migrated(t)
	ctx := t.Context()
	sql(t, dsn, `delete from rouse.versions; update rouse.homes set version = 0`) // whose manifest is none
	shared := random(100)
	for i := range 12 {
		must(t, push(t, s, "moon", shared, fmt.Appendf(nil, "of version %d", i+1)), "")
	}
	left := func(p store.Prune, want string) {
		t.Helper()
		r, err := s.Prune(ctx, p)
		if got := fmt.Sprint(r.Versions, r.Contents, r.Chunks, r.Objects); err != nil || got != want {
			t.Errorf("%+v: %s, want %s: %v", p, got, want, err)
		}
	}
	left(store.Prune{Days: -1}, "0 0 0 0")
	sql(t, dsn, `update rouse.versions set made = now() - interval '31 days'; update rouse.versions set slot = 'noon', made = now() where version = 2`)
	left(store.Prune{Days: -1, Grace: store.Grace, Dry: true}, "1 0 0 0")
	left(store.Prune{Days: -1, Dry: true}, "1 1 1 0")
	left(store.Prune{Days: -1}, "1 1 1 0")
	left(store.Prune{Days: 0}, "0 0 0 0") // a slot of today
	sql(t, dsn, `update rouse.versions set made = now() - interval '31 days'`)
	left(store.Prune{Days: -1, Grace: store.Grace}, "1 0 0 0")
	left(store.Prune{Days: -1}, "0 1 1 0")
	must(t, whole(t, s, "moon"), "")

	sql(t, dsn, `do $$ begin create role weeder login; exception when duplicate_object then end $$; grant rouse_worker to weeder; insert into rouse.members values ('weeder', 'main')`)
	worker := open(t, strings.Replace(dsn, "rouse@", "weeder@", 1))
	for _, p := range []store.Prune{{Days: 29, Grace: store.Grace}, {Days: 30}} {
		sql(t, dsn, `insert into rouse.contents (sum, chunks) values (random()::text::bytea, '{}')`)
		_, err := worker.Prune(ctx, p)
		must(t, err, "does not own the store keeps what is younger")
	}
	_, err := worker.Prune(ctx, store.Prune{Days: -1, Grace: store.Grace})
	must(t, err, "")
	if a, err := worker.Due(ctx); err != nil || !a {
		t.Errorf("nobody pruned today: %v", err)
	}
	if again, err := worker.Due(ctx); err != nil || again {
		t.Errorf("twice a day: %v", err)
	}
}

// TestPruneMeanwhile: homes are pushed whose contents come and go, while all that is not
// needed is removed at once. Whatever a home has is there.
func TestPruneMeanwhile(t *testing.T) {
	dsn, s := migrated(t)
	sql(t, dsn, `delete from rouse.versions; update rouse.homes set version = 0`)
	url, dir := devtest.Bucket(t)
	if url != "" {
		keys(t, devtest.Key, devtest.Secret)
		must(t, s.SetBucket(t.Context(), url), "")
	}
	var pool [][]byte
	for i := range 100 {
		pool = append(pool, random(1<<20*(i%10/9)+100)) // each tenth is large
	}
	var wg sync.WaitGroup
	var gone, pushing atomic.Int64
	pushing.Store(4)
	for n := range 2 {
		wg.Go(func() {
			for pushing.Load() > 0 {
				within, cancel := context.WithTimeout(t.Context(), time.Minute*time.Duration(n)+rand.N(50*time.Millisecond)) // one is killed
				r, err := s.Prune(within, store.Prune{})
				if err != nil && within.Err() == nil {
					t.Error(err)
				}
				cancel()
				gone.Add(r.Contents)
			}
		})
	}
	begun := time.Now()
	for n := range 4 {
		name := fmt.Sprint("home", n)
		must(t, s.Create(t.Context(), name, name), "")
		wg.Go(func() {
			defer pushing.Add(-1)
			for i := 0; i < 30 || gone.Load() < 100 && time.Since(begun) < time.Minute; i++ {
				a, b := rand.IntN(len(pool)), rand.IntN(len(pool))
				if err := errors.Join(push(t, s, name, pool[a], pool[b]), whole(t, s, name)); err != nil {
					t.Errorf("push %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := s.Prune(t.Context(), store.Prune{}); err != nil || gone.Load() == 0 {
		t.Errorf("%d contents went meanwhile: %v", gone.Load(), err)
	}
	var away, trash int
	c, err := pgx.Connect(t.Context(), dsn)
	must(t, err, "")
	defer c.Close(context.Background())
	must(t, c.QueryRow(t.Context(), `select (select count(*) from rouse.chunks where data is null), (select count(*) from rouse.trash)`).Scan(&away, &trash), "")
	if url != "" && (trash != 0 || len(files(t, dir)) != away) {
		t.Errorf("%d objects of %d chunks, %d in trash", len(files(t, dir)), away, trash)
	}
	for n := range 4 {
		must(t, whole(t, s, fmt.Sprint("home", n)), "")
	}
}
