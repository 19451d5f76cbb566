package store_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
)

// A Postgres that may forget what it committed is told of; that of tests does not flush.
func TestRisks(t *testing.T) {
	dsn := devtest.Database(t)
	risks := func() string {
		s, err := store.Open(t.Context(), dsn)
		must(t, err, "")
		defer s.Close()
		all, err := s.Risks(t.Context())
		must(t, err, "")
		return strings.Join(all, "\n")
	}
	if said := risks(); !strings.Contains(said, "fsync = on") || strings.Contains(said, "synchronous_commit is off") {
		t.Errorf("said: %s", said)
	}
	c, err := pgx.Connect(t.Context(), dsn)
	must(t, err, "")
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`)
	must(t, err, "")
	if said := risks(); !strings.Contains(said, "set synchronous_commit = on") {
		t.Errorf("said: %s", said)
	}
}
