// Package observationtest is what every store of observations must pass: [Run].
// It compares each way to read a content with a plain string in memory, and
// checks who may read what, and for how long.
package observationtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"rouse/scratchpad/observation"
)

// Store is a store to be tested, fresh, whose time to live is one hour.
type Store struct {
	Begin   func(turn string) error
	End     func(turn string) error
	Put     func(turn string, data []byte) (observation.Entry, error)
	Get     func(turn, id string) (Content, error)
	Keep    func(turn, id, label string, ttl time.Duration) error
	Kept    func(turn string) ([]observation.Entry, error)
	Collect func() (observation.Stats, error)
	// Pass lets time go by.
	Pass func(time.Duration)
}

// Content is what a store gives to read.
type Content interface {
	Slice(u observation.Unit, start, end int64, limit int) (observation.Part, error)
	Grep(ctx context.Context, q observation.Query) (observation.Found, error)
	Reader() io.Reader
	Close() error
}

// Effort says how much to try: from 4 on all patterns, below one in twelve for
// each point, mostly others; and ten times as many slices of each content. It is
// at least 1.
type Effort int

// Run tests the stores that open makes.
func Run(t *testing.T, effort Effort, open func(t *testing.T) Store) {
	t.Run("slices", func(t *testing.T) { slicesAreThoseOfAString(t, effort, open(t)) })
	t.Run("parts", func(t *testing.T) { partsMakeTheWhole(t, open(t)) })
	t.Run("grep", func(t *testing.T) { grepFindsTheLinesOfAString(t, effort, open(t)) })
	t.Run("own", func(t *testing.T) { onlyOwnEntriesAreRead(t, open(t)) })
	t.Run("life", func(t *testing.T) { entriesLiveAsLongAsTheirTurn(t, open(t)) })
	t.Run("kept", func(t *testing.T) { keptEntriesAreSeenLater(t, open(t)) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put stores data in a turn and opens it.
func (s Store) put(t testing.TB, turn string, data []byte) (observation.Entry, Content) {
	t.Helper()
	e, err := s.Put(turn, data)
	must(t, err)
	return e, s.get(t, turn, e.ID)
}

func (s Store) get(t testing.TB, turn, id string) Content {
	t.Helper()
	c, err := s.Get(turn, id)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func checkWhole(t testing.TB, c Content, data []byte) {
	t.Helper()
	got, err := io.ReadAll(c.Reader())
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Fatalf("%d bytes came back as %d others", len(data), len(got))
	}
}

func wantNotFound(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, observation.ErrNotFound) || err.Error() != observation.ErrNotFound.Error() {
		t.Errorf("the error is %v, want %v", err, observation.ErrNotFound)
	}
}
