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
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rouse/agent/history"
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

// sql is the last word of what psql says.
func sql(t *testing.T, dsn, text string) string {
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
