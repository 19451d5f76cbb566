// Package devtest gives tests a database each, of one Postgres that ends with them.
package devtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"rouse/fleet/dev"
)

var (
	server *dev.Server
	failed error
	count  atomic.Int32
)

// M runs the tests of a package beside a server.
type M struct{ *testing.M }

// Run gives the exit code.
func (m M) Run() int {
	dir, err := os.MkdirTemp("/tmp", "rf") // a socket's path is short
	if err == nil {
		server, err = dev.Start(context.Background(), dir, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	failed = err
	code := m.M.Run()
	if failed == nil {
		server.Stop()
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
