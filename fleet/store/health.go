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
}

// Health looks, and tries the bucket; its error is that of the bucket, and all else is there.
func (s *Store) Health(ctx context.Context) (h Health, err error) {
	size := `pg_total_relation_size('rouse.versions'), pg_total_relation_size('rouse.contents') + pg_total_relation_size('rouse.chunks'), pg_total_relation_size('rouse.lines')`
	err = s.conn.QueryRow(ctx, `select `+size+`, (select min(made) from rouse.versions),
			(select count(*) from pg_stat_activity where backend_type = 'client backend'), current_setting('max_connections')::int, s3 from rouse.fleet`).
		Scan(&h.Versions, &h.Contents, &h.Lines, &h.Oldest, &h.Connections, &h.Most, &h.Bucket)
	if err != nil || h.Bucket == "" {
		return h, told(err)
	}
	b, err := s.bucket(ctx)
	if err == nil {
		err = b.try(ctx)
	}
	return h, err
}
