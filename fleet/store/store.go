// Package store keeps the homes of a fleet in Postgres, 15 or later: their versions,
// whose contents are addressed by their hashes and never change, and who has each home.
//
// Whoever wakes a home holds its lease. Each time it is taken its epoch grows, and
// whatever is written for the home names the epoch: [Store.Mirror] before a call starts,
// [Store.Commit] at the end. Both lock the row of the home first, so
// that none under an older epoch comes through: [ErrLost]. So versions never fork, and a
// holder that was overtaken while it was stopped changes nothing.
package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"rouse/agent/history"
	"rouse/internal/loopback"
)

// Schema is the version of the store that this program makes and understands.
const Schema = 3

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open store. Several goroutines may use it.
type Store struct {
	conn      *pgxpool.Pool
	codec     history.Codec          // of chunks
	manifests history.Codec          // of what is in the rows of versions
	at        atomic.Pointer[bucket] // that was opened last
	ID        string                 // of the fleet, "" where there is none yet
	Schema    int                    // of the fleet, 0 where there is none yet
}

// oldest is the oldest Postgres, as server_version_num has it.
const oldest = 150000

// Open connects to what a DSN names, and looks which fleet is there.
func Open(ctx context.Context, dsn string) (*Store, error) {
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN cannot be read, want postgres://user@host/database: %w", err)
	}
	if err := guarded(c.ConnConfig); err != nil {
		return nil, err
	}
	if m := c.ConnConfig.DefaultQueryExecMode; m == pgx.QueryExecModeExec || m == pgx.QueryExecModeSimpleProtocol {
		return nil, errors.New("the DSN's default_query_exec_mode sends no types with what is written, which cannot be kept then: leave it out")
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = 20 * time.Second
	}
	conn, err := pgxpool.NewWithConfig(ctx, c)
	if err == nil {
		err = conn.Ping(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the fleet's Postgres cannot be reached; look at the DSN, and whether it runs: %w", told(err))
	}
	s := &Store{conn: conn}
	if err := s.look(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the connections.
func (s *Store) Close() { s.conn.Close() }

// guarded refuses what would go over a network as it is.
func guarded(c *pgx.ConnConfig) error {
	open := func(host string, t *tls.Config) bool {
		return t == nil && !filepath.IsAbs(host) && !loopback.Is(host)
	}
	bad := open(c.Host, c.TLSConfig)
	for _, f := range c.Fallbacks {
		bad = bad || open(f.Host, f.TLSConfig)
	}
	if bad {
		return fmt.Errorf("the DSN lets memories and keys go to %s without TLS: add sslmode=verify-full to it (or require, which asks for no certificate)", c.Host)
	}
	return nil
}

// look finds out what is there.
func (s *Store) look(ctx context.Context) error {
	var version int
	var there bool
	err := s.conn.QueryRow(ctx, `select current_setting('server_version_num')::int, exists (select from pg_namespace n join pg_class c on c.relnamespace = n.oid where nspname = 'rouse' and relname = 'schema')`).Scan(&version, &there)
	if err == nil && version < oldest {
		return fmt.Errorf("it is Postgres %d.%d: a fleet needs 15 or later", version/10000, version%10000)
	}
	if err == nil && there {
		err = s.conn.QueryRow(ctx, `select version from rouse.schema`).Scan(&s.Schema)
	}
	if err == nil && s.Schema > Schema {
		return fmt.Errorf("the store has schema %d, and this rouse-fleet knows up to %d: use the newer rouse-fleet", s.Schema, Schema)
	}
	if err == nil && s.Schema > 0 {
		err = s.conn.QueryRow(ctx, `select id from rouse.fleet`).Scan(&s.ID)
	}
	return told(err)
}

// Ready says what must be done before homes are kept here.
func (s *Store) Ready(ctx context.Context) error {
	if s.Schema < Schema {
		return fmt.Errorf("the store has schema %d of %d: make it ready by: rouse-fleet migrate", s.Schema, Schema)
	}
	var tenant *string
	if err := s.conn.QueryRow(ctx, `select rouse.tenant()`).Scan(&tenant); err != nil || tenant != nil {
		return told(err)
	}
	return fmt.Errorf("the login %[1]s is of no tenant; who migrated says which: insert into rouse.members values ('%[1]s', 'main'); grant rouse_worker to %[1]s", s.conn.Config().ConnConfig.User)
}

// Migrate brings the store up to [Schema], in one transaction, and gives what it had. Two
// at once are one.
func (s *Store) Migrate(ctx context.Context) (from int, err error) {
	err = pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtext('rouse fleet'))`); err != nil {
			return err
		}
		if err := s.look(ctx); err != nil {
			return err
		}
		from = s.Schema
		for n := from + 1; n <= Schema; n++ {
			text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", n))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return fmt.Errorf("migration %d: %w", n, err)
			}
		}
		_, err := tx.Exec(ctx, `update rouse.schema set version = $1 where version <> $1`, Schema)
		return err
	})
	if err == nil {
		err = s.look(ctx)
	}
	return from, told(err)
}

// ErrPooled is a pgbouncer, or another one between, that gives one session to several.
var ErrPooled = errors.New("a pooler before the fleet's Postgres gives its sessions to others between transactions, so that orders and pushes are heard of late or never: set pool_mode = session for this database")

// told adds to what Postgres says how to mend it.
func told(err error) error {
	if x := new(x509.UnknownAuthorityError); errors.As(err, x) {
		return fmt.Errorf("the certificate is of no authority that this machine knows: name the file of its authority in the DSN by sslrootcert=: %w", err)
	}
	if c, is := errors.AsType[*pgconn.ConnectError](err); is {
		return unreached{c}
	}
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case p.Code == "42501":
		return fmt.Errorf("this login may not do that: migrate as one that owns the database and may create roles, work as one that was granted rouse_worker: %w", err)
	case p.Code == "25006":
		return fmt.Errorf("this Postgres is a standby, which nothing can be written to: name the primary in the DSN, or both: user@a,b/database?target_session_attrs=read-write: %w", err)
	case p.Code == "42P05", p.Code == "26000", strings.Contains(p.Message, "statement pooling"):
		return fmt.Errorf("%w: %w", ErrPooled, err)
	case strings.HasPrefix(p.Code, "53"), strings.Contains(p.Message, "query_wait_timeout"):
		return fmt.Errorf("the fleet's Postgres, or a pooler before it, is out of room or of connections: %w", err)
	}
	return err
}

// unreached tells on one line, and once each, why none of the addresses could be used.
type unreached struct{ *pgconn.ConnectError }

func (u unreached) Unwrap() error { return u.ConnectError }

func (u unreached) Error() string {
	var lines []string
	for line := range strings.Lines(u.ConnectError.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines[0] + " " + strings.Join(lines[1:], "; ")
}
