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

// Main runs the tests of a package beside a server.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("/tmp", "rf") // a socket's path is short
	if err == nil {
		server, err = dev.Start(context.Background(), dir, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	failed = err
	code := m.Run()
	if failed == nil {
		server.Stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
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
	Exec(t, server.DSN, "create database "+name)
	return strings.Replace(server.DSN, "/postgres?", "/"+name+"?", 1)
}

// Exec runs SQL beside what is tested.
func Exec(t testing.TB, dsn, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
