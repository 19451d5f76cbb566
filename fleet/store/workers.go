package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Worker is who wakes homes.
type Worker struct {
	Name     string    `json:"name"`
	Labels   []string  `json:"labels,omitempty"`
	Program  string    `json:"program"` // its version
	Listen   string    `json:"listen,omitempty"`
	Awake    int       `json:"awake"` // homes
	Draining bool      `json:"draining"`
	Seen     time.Time `json:"seen"`
}

// Beat says that a worker is there, and learns whether it is to take no more homes. What it
// says of that itself stays.
func (s *Store) Beat(ctx context.Context, w Worker) (draining bool, err error) {
	if w.Labels == nil {
		w.Labels = []string{}
	}
	err = s.conn.QueryRow(ctx, `insert into rouse.workers (name, labels, program, listen, awake, draining) values ($1, $2, $3, $4, $5, $6)
		on conflict (tenant, name) do update set labels = $2, program = $3, listen = $4, awake = $5, draining = workers.draining or $6, seen = clock_timestamp()
		returning draining`, w.Name, w.Labels, w.Program, w.Listen, w.Awake, w.Draining).Scan(&draining)
	return draining, told(err)
}

// Gone takes a worker out that has ended.
func (s *Store) Gone(ctx context.Context, name string) error {
	_, err := s.conn.Exec(ctx, `delete from rouse.workers where tenant = rouse.tenant() and name = $1`, name)
	return told(err)
}

// Drain tells a worker to take no more homes, or with false to take them again. [ErrNone] is
// no such worker.
func (s *Store) Drain(ctx context.Context, name string, drain bool) error {
	tag, err := s.conn.Exec(ctx, `update rouse.workers set draining = $2 where tenant = rouse.tenant() and name = $1`, name, drain)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrNone
	}
	return told(err)
}

// Workers are those that were seen, by name.
func (s *Store) Workers(ctx context.Context) ([]Worker, error) {
	rows, err := s.conn.Query(ctx, `select name, labels, program, listen, awake, draining, seen from rouse.workers where tenant = rouse.tenant() order by name`)
	if err != nil {
		return nil, told(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Worker])
	return all, told(err)
}
