package store_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

// bucket gives the store a bucket, if there is one, whose objects are files of a folder.
func bucket(t *testing.T, s *store.Store) (dir string) {
	t.Helper()
	url, dir := devtest.Bucket(t)
	if url != "" {
		keys(t, devtest.Key, devtest.Secret)
		must(t, s.SetBucket(t.Context(), url), "")
	}
	return dir
}

func keys(t *testing.T, key, secret string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
}

// random are so many bytes that do not compress.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(rand.Uint32()), byte(rand.Uint32()), byte(rand.Uint32())}).Read(b)
	return b
}

// add puts contents into the store, and gives their sums.
func add(t *testing.T, u *store.Upload, contents ...[]byte) (sums []string) {
	t.Helper()
	for _, c := range contents {
		sum, err := u.Add(t.Context(), bytes.NewReader(c))
		must(t, err, "")
		sums = append(sums, sum)
	}
	must(t, u.Flush(t.Context()), "")
	return sums
}

func read(t *testing.T, s *store.Store, sum string) ([]byte, error) {
	t.Helper()
	r, err := s.Content(t.Context(), sum)
	must(t, err, "")
	return io.ReadAll(r)
}

// files are those of a folder.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	}), "")
	return paths
}

// TestBucket: large contents lie in the bucket, those of before it and small ones in the
// table; all are read. What is wrong with the bucket is said, and nothing names what is not there.
func TestBucket(t *testing.T) {
	dsn, s := migrated(t)
	ctx := t.Context()
	l, err := s.Acquire(ctx, "moon", "me", time.Hour, false)
	must(t, err, "")
	before, large, small := random(3<<20+7), random(9<<20+7), random(1<<20-1)
	old := add(t, s.Upload(l), before)
	dir := bucket(t, s)
	if dir == "" {
		t.Skip("there is no versitygw: name one by ROUSE_FLEET_S3GW")
	}
	sums := append(add(t, s.Upload(l), large, small, before, large), old...)
	if n := len(files(t, dir)); n != 10 {
		t.Errorf("%d objects, want the 10 chunks of the large one", n)
	}
	sql(t, dsn, `delete from rouse.versions; insert into rouse.trash (sum, seen) select sum, '2020-01-01' from rouse.chunks`)
	if r, err := s.Prune(ctx, store.Prune{}); err != nil || r.Chunks != 0 || r.Objects != 5 { // five are in the table
		t.Errorf("prune: %+v: %v", r, err)
	}
	for i, want := range [][]byte{large, small, before} {
		if got, err := read(t, s, sums[i]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("content %d: %d bytes of %d: %v", i, len(got), len(want), err)
		}
	}
	path := files(t, dir)[0]
	must(t, os.Truncate(path, 1000), "")
	_, err = read(t, s, sums[0])
	must(t, err, "damaged in the bucket homes")

	keys(t, devtest.Key, "wrong")
	u := open(t, dsn).Upload(l)
	sum, err := u.Add(ctx, bytes.NewReader(random(2<<20)))
	must(t, err, "")
	must(t, u.Flush(ctx), "the keys of this machine are refused")
	if missing, err := s.Upload(l).Missing(ctx, []string{sum}); err != nil || len(missing) != 1 {
		t.Errorf("a content is there whose chunks are not: %v", err)
	}
}
