// Package devtest gives tests a database each, of one Postgres that ends with them, and a
// Temporal that they share.
package devtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"rouse/fleet/dev"
)

var (
	server *dev.Server
	failed error
	count  atomic.Int32

	temporal struct {
		sync.Once
		*dev.Temporal
		dir string
		err error
	}
)

// M runs the tests of a package beside a server.
type M struct{ *testing.M }

// Run gives the exit code.
func (m M) Run() int {
	dir, err := os.MkdirTemp("/tmp", "rf") // a socket's path is short
	if err == nil {
		server, err = dev.Start(context.Background(), dir, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	failed, temporal.dir = err, filepath.Join(dir, "temporal")
	code := m.M.Run()
	if failed == nil {
		server.Stop()
	}
	if temporal.Temporal != nil {
		temporal.Stop()
	}
	_ = os.RemoveAll(dir)
	return code
}

// Database is the DSN of a new database. Without Postgres the test is skipped.
func Database(t testing.TB) string {
	t.Helper()
	if failed == dev.ErrMissing {
		t.Skip(failed)
	}
	if failed != nil {
		t.Fatal(failed)
	}
	name := fmt.Sprint("t", count.Add(1))
	c, err := pgx.Connect(t.Context(), server.DSN)
	if err == nil {
		_, err = c.Exec(t.Context(), "create database "+name)
		_ = c.Close(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(server.DSN, "/postgres?", "/"+name+"?", 1)
}

// Temporal is the address of the one that the tests of a package share. Without its server the
// test is skipped.
func Temporal(t testing.TB) string {
	t.Helper()
	temporal.Do(func() { temporal.Temporal, temporal.err = dev.StartTemporal(context.Background(), temporal.dir) })
	if temporal.err == dev.ErrNoTemporal {
		t.Skip(temporal.err)
	}
	if temporal.err != nil {
		t.Fatal(temporal.err)
	}
	return temporal.Address
}
