package store

import (
	"context"
	"time"
)

// Health is how large a store is, in bytes on its disk and for all its tenants, and how much
// of its server is used.
type Health struct {
	Versions    int64      `json:"versions_bytes"`
	Contents    int64      `json:"contents_bytes"` // in the table
	Lines       int64      `json:"lines_bytes"`
	Oldest      *time.Time `json:"oldest_version,omitempty"`
	Connections int        `json:"connections"`
	Most        int        `json:"max_connections"`
	Bucket      string     `json:"bucket,omitempty"`
	Risks       []string   `json:"risks,omitempty"` // see [Store.Risks]
}

// Health looks, and tries the bucket; its error is that of the bucket, and all else is there.
func (s *Store) Health(ctx context.Context) (h Health, err error) {
	size := `pg_total_relation_size('rouse.versions'), pg_total_relation_size('rouse.contents') + pg_total_relation_size('rouse.chunks'), pg_total_relation_size('rouse.lines')`
	err = s.conn.QueryRow(ctx, `select `+size+`, (select min(made) from rouse.versions),
			(select count(*) from pg_stat_activity where backend_type = 'client backend'), current_setting('max_connections')::int, s3 from rouse.fleet`).
		Scan(&h.Versions, &h.Contents, &h.Lines, &h.Oldest, &h.Connections, &h.Most, &h.Bucket)
	if err == nil {
		h.Risks, err = s.Risks(ctx)
	}
	if err != nil || h.Bucket == "" {
		return h, told(err)
	}
	b, err := s.bucket(ctx)
	if err == nil {
		err = b.try(ctx)
	}
	return h, err
}

// Risks says how this Postgres may forget what it has committed, on which all promises of a
// fleet rest, and how that is mended. The settings are those of the [manual].
//
// [manual]: https://www.postgresql.org/docs/current/runtime-config-wal.html
func (s *Store) Risks(ctx context.Context) (all []string, err error) {
	var fsync, commit, names string
	var standbys int
	var standby bool
	err = s.conn.QueryRow(ctx, `select current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), (select count(*) from pg_stat_replication), pg_is_in_recovery()`).
		Scan(&fsync, &commit, &names, &standbys, &standby)
	if standby {
		all = append(all, "it is a standby, so homes are seen and none wakes; name the primary in the DSN, or both with target_session_attrs=read-write")
	}
	if fsync == "off" {
		all = append(all, "its fsync is off: when its machine crashes the store may be damaged; set fsync = on")
	}
	if commit == "off" {
		all = append(all, "its synchronous_commit is off: when it crashes the last commits are gone, and calls may be repeated; set synchronous_commit = on")
	}
	if standbys > 0 && (names == "" || commit == "local") {
		all = append(all, "its standby may be behind: where that takes over the last commits are gone, and calls may be repeated; set synchronous_standby_names, and synchronous_commit = on")
	}
	return all, told(err)
}
