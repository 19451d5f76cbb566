package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad/observation"
)

// gcTime bounds how long a cycle collects observations that have expired.
const gcTime = 2 * time.Second

// shelve gives the cycle its place in the store of observations, which is opened
// when something is put there, was kept there, or is to be collected. Nothing
// that goes wrong with the store fails the cycle.
func (a *Agent) shelve(c *cycle) {
	dir := a.Home.Memory()
	c.turn = sync.OnceValues(func() (*observation.Turn, error) { return a.openShelf(c, dir) })
	if observation.HasKept(dir) {
		c.kept = a.listKept(c)
	}
	if observation.Due(dir, a.Observations.TTL, a.now()) {
		// A store that cannot be opened is met again when something is put there.
		_, _ = c.turn()
	}
}

// openShelf opens the store, begins the cycle's turn there, and collects what
// has expired, for a bounded time.
func (a *Agent) openShelf(c *cycle, dir string) (*observation.Turn, error) {
	opt := a.Observations
	opt.Log = slog.New(shelfLog{c.journal})
	store, err := observation.Open(dir, opt)
	if err != nil {
		return nil, err
	}
	c.store = store
	turn, err := store.Begin(c.id, proc.Self())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gcTime)
	defer cancel()
	// What is left is collected another time.
	_, _ = store.GC(ctx)
	return turn, nil
}

// shelfLog puts what the store says into the journal: what it removed and why,
// and what was damaged.
type shelfLog struct{ journal *journal.Writer }

// Enabled says that everything is said.
func (shelfLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes one event.
func (l shelfLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += ", " + a.String()
		return true
	})
	return l.journal.Append(&journal.Warning{Text: text})
}

// WithAttrs adds none: the store has none for all messages.
func (l shelfLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup makes none.
func (l shelfLog) WithGroup(string) slog.Handler { return l }

// listKept is what earlier cycles kept.
func (a *Agent) listKept(c *cycle) string {
	turn, err := c.turn()
	if err != nil {
		return ""
	}
	entries, err := turn.Kept()
	if err != nil {
		return ""
	}
	return a.keptText(entries)
}

// previewKept is what a cycle would find kept.
func (a *Agent) previewKept() string {
	if dir := a.Home.Memory(); observation.HasKept(dir) {
		store, err := observation.Open(dir, a.Observations)
		if err != nil {
			return ""
		}
		defer store.Close()
		if entries, err := store.List(observation.Filter{Kept: true}); err == nil {
			return a.keptText(entries)
		}
	}
	return ""
}

// keptText is a list of what is kept, one a line, without secrets in the labels
// before these are cut.
func (a *Agent) keptText(entries []observation.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "- %s: %s, %d bytes, %s old\n", e.ID, text.Line(a.Redact.String(e.Label), 200), e.Bytes, a.now().Sub(e.Created).Round(time.Second))
	}
	return b.String()
}

// unshelve ends the cycle's use of the store. A turn that cannot be ended is
// ended by a later cycle, which sees that its process is gone.
func (c *cycle) unshelve() {
	if c.store == nil {
		return
	}
	if turn, err := c.turn(); err == nil {
		_ = turn.End()
	}
	_ = c.store.Close()
}
