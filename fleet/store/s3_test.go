package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

// bucket gives the store a bucket, whose objects are files of a folder.
func bucket(t *testing.T, s *store.Store) (url, dir string) {
	t.Helper()
	if url, dir = devtest.Bucket(t); url == "" {
		t.Skip("there is no versitygw: name one by ROUSE_FLEET_S3GW")
	}
	keys(t, devtest.Key, devtest.Secret)
	must(t, s.SetBucket(t.Context(), url), "")
	return url, dir
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
	url, dir := bucket(t, s)
	sums := append(add(t, s.Upload(l), large, small, before, large), old...)
	if n := len(files(t, dir)); n != 10 {
		t.Errorf("%d objects, want the 10 chunks of the large one", n)
	}
	sql(t, dsn, `delete from rouse.versions; insert into rouse.trash (sum, seen) select sum, '2020-01-01' from rouse.chunks`) // of uploads that were killed
	if r, err := s.Prune(ctx, store.Prune{}); err != nil || r.Chunks != 0 || r.Objects != 5 {                                 // five are in the table
		t.Errorf("prune: %+v: %v", r, err)
	}
	for i, want := range [][]byte{large, small, before} {
		if got, err := read(t, s, sums[i]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("content %d: %d bytes of %d: %v", i, len(got), len(want), err)
		}
	}
	must(t, s.SetBucket(ctx, "off"), "needs contents that are in the bucket")
	for url, says := range map[string]string{"http://s3.example.com/b": "without TLS: write https", "https://s3.example.com": "want https://endpoint/bucket", "https://a:b@s3.example.com/b": "without keys in it",
		strings.Replace(url, "/homes", "/other", 1): "there is no bucket other", "http://127.0.0.1:1/homes": "cannot be reached from here"} {
		must(t, s.SetBucket(ctx, url), says)
	}

	path := files(t, dir)[0]
	must(t, os.Truncate(path, 1000), "")
	_, err = read(t, s, sums[0])
	must(t, err, "damaged in the bucket homes")
	must(t, os.Remove(path), "")
	_, err = read(t, s, sums[0])
	must(t, err, "an object is missing from the bucket homes")

	for key, says := range map[string]string{devtest.Key: "the keys of this machine are refused", "": "there are no keys for the bucket"} {
		keys(t, key, key)
		u, content := open(t, dsn).Upload(l), random(2<<20)
		_, err := u.Add(ctx, bytes.NewReader(content))
		if err == nil {
			err = u.Flush(ctx)
		}
		must(t, err, says)
		sum := sha256.Sum256(content)
		keys(t, devtest.Key, devtest.Secret)
		if missing, err := s.Upload(l).Missing(ctx, []string{hex.EncodeToString(sum[:])}); err != nil || len(missing) != 1 {
			t.Errorf("a content is there whose chunks are not: %v", err)
		}
	}
}
