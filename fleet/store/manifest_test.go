package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rouse/agent/history"
	"rouse/fleet/checkout"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

// lines are those of a manifest by their paths.
type lines map[string]string

// set has links be new, as they need no content.
func (l lines) set(paths ...string) {
	for _, path := range paths {
		l[path] = fmt.Sprintf("l\t777\t0\t%d\t%d\t%d\t%x\t\t%s\n", rand.Uint64()>>1, rand.Uint64()>>1, rand.Uint32(), random(32), path)
	}
}

// cycle is what a cycle leaves, and changes.
func (l lines) cycle(n int) {
	l.set(ofCycle(n)...)
	l.set("logs", "logs/retention", "logs/slots.jsonl", "logs/spend.jsonl", "scratchpad", "scratchpad/active.yaml", "workspace")
}

func ofCycle(n int) []string {
	id := time.Unix(int64(n)*900, 0).UTC().Format("20060102_150405")
	return []string{"logs/cycle_" + id + ".jsonl", "logs/cycle_" + id + ".log", "scratchpad/" + id + "_after.yaml", "scratchpad/" + id + "_before.yaml"}
}

// text is that of a manifest.
func (l lines) text() []byte {
	b := fmt.Appendf(nil, "rouse history 1\nversion %s\nparent \nof home\nscanned %d\npacks \n", time.Now().Format("20060102_150405"), time.Now().UnixNano())
	for _, path := range slices.Sorted(maps.Keys(l)) {
		b = append(b, l[path]...)
	}
	return fmt.Appendf(b, "sum %x\n", sha256.Sum256(b))
}

// commit commits a manifest, and gives its epoch.
func commit(t testing.TB, s *store.Store, text []byte) int64 {
	t.Helper()
	l, err := s.Acquire(t.Context(), "moon", "me", time.Hour, false)
	must(t, err, "")
	must(t, s.Commit(t.Context(), l, store.Version{Maker: "me", Manifest: text}), "")
	return l.Epoch
}

// same wants the text of an epoch back.
func same(t testing.TB, s *store.Store, epoch int64, text []byte) {
	t.Helper()
	h, err := s.Home(t.Context(), "moon")
	must(t, err, "")
	if is, _, err := s.Manifest(t.Context(), h.ID, epoch); err != nil || !bytes.Equal(is, text) {
		t.Fatalf("%d bytes came back for %d: %v", len(is), len(text), err)
	}
}

// TestAnyManifest: whatever is committed comes back, also with lines of any length.
func TestAnyManifest(t *testing.T) {
	_, s := migrated(t)
	texts := map[int64][]byte{}
	var text []byte
	for range 30 {
		for range rand.IntN(3) {
			at := rand.IntN(len(text) + 1)
			text = slices.Concat(text[:at], random(rand.IntN(100<<10)), []byte(strings.Repeat("\n", rand.IntN(9))), text[at:])
		}
		if rand.IntN(4) == 0 {
			text = bytes.Clone(text[:rand.IntN(len(text)+1)])
		}
		if len(text) > 0 {
			texts[commit(t, s, text)] = text
		}
	}
	for epoch, text := range texts {
		same(t, s, epoch, text)
	}
}

// TestGrowth: a home with 3,000 cycles costs what its versions differ in. What is damaged or
// missing is said, and stops prune.
func TestGrowth(t *testing.T) {
	dsn, s := migrated(t)
	sql(t, dsn, `delete from rouse.versions`)
	l := lines{}
	for n := range 3000 {
		l.cycle(n)
	}
	epochs, texts, inline := []int64{}, [][]byte{}, 0
	const kept = `select sum(pg_column_size(v.*)) + (select sum(pg_column_size(c.*)) from rouse.chunks c) from rouse.versions v`
	var first, since string
	for n := range 50 {
		for _, path := range ofCycle(n) {
			delete(l, path)
		}
		l.cycle(3000 + n)
		text := l.text()
		whole, err := new(history.Codec).Frame(text)
		must(t, err, "")
		since = sql(t, dsn, `select clock_timestamp()`)
		epochs, texts = append(epochs, commit(t, s, text)), append(texts, text)
		if n == 0 {
			first = sql(t, dsn, kept)
		} else {
			inline += len(whole)
		}
	}
	var before, after int
	fmt.Sscan(first, &before)
	fmt.Sscan(sql(t, dsn, kept), &after)
	t.Logf("a version whole %d bytes, in pieces %d, the first %d", inline/49, (after-before)/49, before)
	if after-before > inline/20 {
		t.Errorf("49 versions are %d bytes, and %d whole", after-before, inline)
	}
	if n := sql(t, dsn, `select count(*) from rouse.chunks where seen > '`+since+`'`); len(n) > 2 {
		t.Errorf("the last version wrote %s pieces", n)
	}
	if r, err := s.Prune(t.Context(), store.Prune{Days: 0}); err != nil || r.Versions != 40 || r.Chunks == 0 {
		t.Errorf("%+v: %v", r, err)
	}
	for n := 40; n < 50; n++ {
		same(t, s, epochs[n], texts[n])
	}
	h, err := s.Home(t.Context(), "moon")
	must(t, err, "")
	raw, err := hex.DecodeString(sql(t, dsn, `select encode(manifest, 'hex') from rouse.versions order by version desc limit 1`))
	must(t, err, "")
	_, err = history.Parse(raw) // as a program did before there were pieces
	must(t, err, "its hash is another")
	for _, spoil := range [][2]string{{"its hash is another", `update rouse.chunks set data = (select data from rouse.chunks limit 1)`}, {"is missing in the store", `delete from rouse.chunks`}} {
		sql(t, dsn, spoil[1])
		_, _, err = s.Manifest(t.Context(), h.ID, 0)
		must(t, err, spoil[0])
		must(t, err, "version 51 of moon: ")
		_, err = s.Prune(t.Context(), store.Prune{})
		must(t, err, "moon: a manifest cannot be read, so nobody knows what it needs, and no content was removed")
	}
}

// BenchmarkVersions says what a version costs of a home that has as many as it keeps cycles.
func BenchmarkVersions(b *testing.B) {
	for _, keep := range []int{192, 2880} {
		b.Run(fmt.Sprint(keep), func(b *testing.B) {
			dsn, s := migrated(b)
			sql(b, dsn, `delete from rouse.versions`)
			l, took := lines{}, []time.Duration{}
			for n := range 2 * keep {
				if l.cycle(n); n < keep {
					continue
				}
				for _, path := range ofCycle(n - keep) {
					delete(l, path)
				}
				text := l.text()
				began := time.Now()
				commit(b, s, text)
				took = append(took, time.Since(began))
			}
			per := func(what, of string) {
				var n float64
				_, err := fmt.Sscan(sql(b, dsn, `select `+of), &n)
				must(b, err, "")
				b.ReportMetric(n/float64(keep), what+"/version")
			}
			per("disk-B", `pg_total_relation_size('rouse.versions') + pg_total_relation_size('rouse.chunks')`)
			per("chunk-rows", `count(*) from rouse.chunks`)
			slices.Sort(took)
			b.ReportMetric(float64(took[keep/2].Microseconds())/1000, "commit-ms")
			began := time.Now()
			_, err := s.Prune(b.Context(), store.Prune{Days: 30})
			must(b, err, "")
			b.ReportMetric(float64(time.Since(began).Milliseconds()), "prune-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestPruneBetween: a commit that names pieces of the version before, of one that goes, and its own
// has them all, whenever between its steps all is removed that may be.
func TestPruneBetween(t *testing.T) {
	dsn, s := migrated(t)
	sql(t, dsn, `delete from rouse.versions; create function pause() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(7); return new; end $$`)
	l := lines{}
	l.set(links()...)
	for _, point := range []string{"rouse.chunks", "rouse.versions"} {
		old := l.text()
		for range 12 {
			l.set(links()[:500]...)
			commit(t, s, l.text())
			l.set(links()[rand.IntN(1000)])
		}
		text := append(l.text(), old...)
		c, err := pgx.Connect(t.Context(), dsn)
		must(t, err, "")
		_, err = c.Exec(t.Context(), `create trigger pause before insert on `+point+` execute function pause(); select pg_advisory_lock(7)`)
		must(t, err, "")
		done := make(chan int64)
		go func() { done <- commit(t, s, text) }()
		for sql(t, dsn, `select exists (select from pg_locks where locktype = 'advisory' and not granted)`) == "f" {
			time.Sleep(time.Millisecond)
		}
		if r, err := s.Prune(t.Context(), store.Prune{}); err != nil || r.Versions == 0 || r.Chunks == 0 {
			t.Errorf("%+v: %v", r, err)
		}
		must(t, c.Close(t.Context()), "") // which unlocks
		same(t, s, <-done, text)
		sql(t, dsn, `drop trigger pause on `+point)
	}
}

func links() (paths []string) {
	for n := range 1000 {
		paths = append(paths, fmt.Sprintf("links/%04d", n))
	}
	return paths
}

// TestMigration: homes of a store that knew no pieces are pulled as they were, once it was migrated.
func TestMigration(t *testing.T) {
	dsn := devtest.Database(t)
	for n := range 2 {
		text, err := os.ReadFile(fmt.Sprintf("migrations/%04d.sql", n+1))
		must(t, err, "")
		sql(t, dsn, string(text))
	}
	sql(t, dsn, `update rouse.schema set version = 2; insert into rouse.homes (name, version) values ('moon', 1)`)
	s, dir := open(t, dsn), t.TempDir()
	must(t, s.Ready(t.Context()), "the store has schema 2 of 3: make it ready by: rouse-fleet migrate")
	l := lines{}
	l.set(links()...)
	l["rules.md"] = fmt.Sprintf("f\t600\t3\t1\t1\t1\t%s\t\trules.md\n", add(t, s.Upload(store.Lease{}), []byte("one"))[0])
	frame, err := new(history.Codec).Frame(l.text())
	must(t, err, "")
	sql(t, dsn, fmt.Sprintf(`insert into rouse.versions (home, version, epoch, maker, files, bytes, manifest) select id, 1, 0, 'me', 1, 3, '\x%x' from rouse.homes`, frame))
	from, err := s.Migrate(t.Context())
	must(t, err, "")
	epoch := commit(t, s, l.text())
	for _, version := range []string{"pieces", "whole"} {
		_, err = checkout.Pull(t.Context(), s, "moon", filepath.Join(dir, version), true)
		must(t, err, "")
		links, _ := os.ReadDir(filepath.Join(dir, version, "links"))
		if data, err := os.ReadFile(filepath.Join(dir, version, "rules.md")); err != nil || string(data) != "one" || len(links) != 1000 || from != 2 {
			t.Errorf("of schema %d, %s: %q and %d links: %v", from, version, data, len(links), err)
		}
		sql(t, dsn, fmt.Sprintf(`delete from rouse.versions where epoch = %d`, epoch))
	}
}
