package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rouse/agent/history"
	"rouse/fleet/store"
)

// folder is a version of a folder with some contents as its files, and links that stay but one.
func folder(l lines, contents ...[]byte) (sums []string, manifest []byte) {
	for n := range 1000 {
		if path := fmt.Sprint("links/", n); l[path] == "" || rand.IntN(300) == 0 {
			l.set(path)
		}
	}
	for i, c := range contents {
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(c)))
		l[fmt.Sprint(i)] = fmt.Sprintf("f\t600\t%d\t1\t1\t1\t%s\t\t%d\n", len(c), sums[i], i)
	}
	return sums, l.text()
}

// push makes a version of a home as a worker does.
func push(t *testing.T, s *store.Store, name string, was lines, contents ...[]byte) error {
	sums, manifest := folder(was, contents...)
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
		if e.Kind != history.File {
			continue
		}
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

// sql is the last word of what psql says.
func sql(t testing.TB, dsn, text string) string {
	t.Helper()
	out, err := exec.Command("psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", text, dsn).CombinedOutput()
	must(t, err, "")
	return strings.TrimSpace(string(out))
}

// TestPruneMeanwhile: homes are pushed whose contents come and go, while all that is not
// needed is removed at once. Whatever a home has is there.
func TestPruneMeanwhile(t *testing.T) {
	dsn, s := migrated(t)
	sql(t, dsn, `delete from rouse.versions; update rouse.homes set version = 0`)
	dir := bucket(t, s)
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
			was := lines{}
			for i := 0; i < 30 || gone.Load() < 100 && time.Since(begun) < time.Minute; i++ {
				a, b := rand.IntN(len(pool)), rand.IntN(len(pool))
				if err := errors.Join(push(t, s, name, was, pool[a], pool[b]), whole(t, s, name)); err != nil {
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
	if dir != "" {
		is := fmt.Sprintf("%d objects, 0 in trash", len(files(t, dir)))
		if left := sql(t, dsn, `select format('%s objects, %s in trash', (select count(*) from rouse.chunks where data is null), (select count(*) from rouse.trash))`); is != left {
			t.Errorf("%s, and by the store %s", is, left)
		}
	}
	for n := range 4 {
		must(t, whole(t, s, fmt.Sprint("home", n)), "")
	}
	if _, err := s.PruneDaily(t.Context()); err != nil || sql(t, dsn, `select at > now() - interval '1 minute' from rouse.pruned`) != "t" {
		t.Errorf("daily: %v", err)
	}
	sql(t, dsn, `update rouse.pruned set at = at - interval '23 hours'`)
	if _, err := s.PruneDaily(t.Context()); err != nil || sql(t, dsn, `select at > now() - interval '1 hour' from rouse.pruned`) != "f" {
		t.Errorf("twice a day: %v", err)
	}
}
