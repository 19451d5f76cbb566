package proof

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"rouse/fleet/checkout"
	"rouse/fleet/flow"
	"rouse/fleet/store"
	"rouse/home"
)

// BenchmarkVisit wakes a home by a worker and another one by `rouse run --due`, in turn: a cycle of
// two calls each.
func BenchmarkVisit(b *testing.B) {
	c := newCluster(b)
	c.world.Quick, c.ttl, c.base = true, 30*time.Second, fmt.Sprint(time.Now().UnixNano(), " 1")
	m := c.join("a", c.build("rouse", "v2.0.0"))
	c.push(1, time.Minute)
	local := filepath.Join(c.dir, "home0")
	c.world.Make(local, 1, "* * * * *")
	s := c.store()
	defer s.Close()
	w, _, err := m.worker(s)
	c.must(err)
	var here, fleet []time.Duration
	for n := range b.N + 1 {
		c.set(m, time.Duration(n)*time.Minute)
		w.Now, _, err = clock(m.Rouse + ".clock")
		c.must(err)
		began := time.Now()
		out, err := exec.Command(w.Rouse, "run", "--due", "--home", local).CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		middle := time.Now()
		_, err = w.Wake(b.Context(), "home0")
		c.must(err)
		if n > 0 { // the first one has all to fetch
			here, fleet = append(here, middle.Sub(began)), append(fleet, time.Since(middle))
		}
	}
	h, err := s.Home(b.Context(), "home0")
	if err != nil || h.Version < b.N || h.State.Problem != "" {
		b.Fatalf("%+v: %v", h, err)
	}
	slices.Sort(here)
	slices.Sort(fleet)
	ms := func(d []time.Duration) float64 { return float64(d[len(d)/2].Microseconds()) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(here), "local-ms")
	b.ReportMetric(ms(fleet), "fleet-ms")
	b.ReportMetric(ms(fleet)-ms(here), "more-ms")
}

// BenchmarkFleet has one worker with Temporal wake more homes than it can, and says what a visit
// costs each part.
func BenchmarkFleet(b *testing.B) {
	c := newCluster(b)
	c.temporal()
	c.world.Quick, c.ttl, c.base = true, 29*time.Second, fmt.Sprint(time.Now().UnixNano(), " 1")
	m := c.join("a", c.build("rouse", "v2.0.0"))
	c.push(100, 2*time.Second)
	db, err := pgx.Connect(b.Context(), c.pg.DSN)
	c.must(err)
	defer db.Close(context.Background())
	_, err = db.Exec(b.Context(), `drop trigger witness on rouse.homes; drop trigger witness on rouse.lines; create extension pg_stat_statements schema public`)
	c.must(err)
	one := func(sql string) (n float64) {
		c.must(db.QueryRow(b.Context(), sql).Scan(&n))
		return n
	}
	per := []struct{ name, sql string }{
		{"commits", `select xact_commit from pg_stat_database where datname = current_database()`},
		{"statements", `select sum(calls) from public.pg_stat_statements where query not like '%pg_stat%'`},
		{"WAL-B", `select pg_current_wal_lsn() - '0/0'::pg_lsn`},
		{"kept-B", `select pg_database_size(current_database())`},
		{"version-B", `select sum(pg_column_size(v.*)) from rouse.versions v`},
		{"chunk-rows", `select count(*) from rouse.chunks`},
		{"chunk-B", `select sum(length(data)) from rouse.chunks`},
		{"content-rows", `select count(*) from rouse.contents`},
		{"mirrored-lines", `select n_tup_ins from pg_stat_user_tables where relname = 'lines'`},
	}
	visits := func() float64 { return one(`select count(*) from rouse.versions`) }
	c.must(m.start())
	defer m.stop()
	for visits() < 200 { // each home was pushed, and visited once
		time.Sleep(100 * time.Millisecond)
	}
	was, began, before := make([]float64, len(per)), time.Now(), visits()
	for i, p := range per {
		was[i] = one(p.sql)
	}
	time.Sleep(20 * time.Second)
	n, took, conns := visits()-before, time.Since(began), one(`select count(*) - 1 from pg_stat_activity where backend_type = 'client backend'`)
	m.stop()
	time.Sleep(time.Second) // until Postgres has counted
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/took.Seconds(), "visits/s")
	for i, p := range per {
		b.ReportMetric((one(p.sql)-was[i])/n, p.name+"/visit")
	}
	b.ReportMetric(conns, "connections")
	b.ReportMetric(float64(m.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, "worker-MiB")
	c.history(b)
}

// history is what Temporal keeps of a home.
func (c *cluster) history(b *testing.B) {
	s := c.store()
	defer s.Close()
	t, err := client.Dial(client.Options{HostPort: c.temp.Address})
	c.must(err)
	defer t.Close()
	h, err := s.Home(b.Context(), "home7")
	c.must(err)
	is, err := t.DescribeWorkflowExecution(b.Context(), flow.ID(s.ID, h.ID), "")
	c.must(err)
	info := is.WorkflowExecutionInfo
	b.ReportMetric(float64(info.HistoryLength)/float64(h.Version-1), "events/visit")
	b.ReportMetric(float64(info.HistorySizeBytes)/float64(h.Version-1), "history-B/visit")
}

// BenchmarkCheckout checks out a home with 100 MB: all of it, again, and after 1 MB changed.
func BenchmarkCheckout(b *testing.B) {
	c := newCluster(b)
	s := c.store()
	defer s.Close()
	h := home.Home{Dir: filepath.Join(c.dir, "home1")}
	c.world.Make(h.Dir, 1, "* * * * *")
	mb := make([]byte, 1<<20)
	for n := range 100 {
		_, _ = rand.Read(mb)
		c.must(os.WriteFile(filepath.Join(h.Dir, "workspace", fmt.Sprint(n)), mb, 0o600))
	}
	_, err := checkout.Push(b.Context(), s, h, "")
	c.must(err)
	visit := func(dir string, change bool) time.Duration {
		at, err := s.Home(b.Context(), "home1")
		c.must(err)
		l, err := s.Acquire(b.Context(), "home1", dir, time.Minute, false)
		c.must(err)
		f, v := checkout.FolderOf(s, "home1", filepath.Join(c.dir, dir), filepath.Join(c.dir, "lost")), store.Version{Maker: dir}
		began := time.Now()
		c.must(f.Checkout(b.Context(), l, at.Version, nil))
		took := time.Since(began)
		if change {
			c.must(f.Begin(l))
			_, _ = rand.Read(mb)
			c.must(os.WriteFile(filepath.Join(f.Dir, "workspace/7"), mb, 0o600))
		}
		_, err = f.Send(b.Context(), l, &v)
		c.must(err)
		c.must(f.Commit(b.Context(), l, v))
		return took
	}
	ms := func(name string, d time.Duration) { b.ReportMetric(float64(d.Microseconds())/1000, name+"-ms") }
	b.ReportMetric(0, "ns/op")
	ms("full", visit("a", false))
	visit("b", true)
	ms("changed", visit("a", false))
	ms("same", visit("a", false))
}
