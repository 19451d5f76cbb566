package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/internal/mirror"
	"rouse/internal/text"
)

// late is how long after its time a home may wake, or a worker be heard of.
const late = time.Minute

// Where says who has a home, for people.
func (h Home) Where(now time.Time) string {
	switch {
	case h.Holder == "":
		return "in the fleet"
	case h.Until == nil:
		return "at " + h.Holder
	case h.AwakeAt(now):
		return "awake at " + h.Holder
	}
	return "left by " + h.Holder
}

// AwakeAt says that a worker has the home at a moment.
func (h Home) AwakeAt(now time.Time) bool {
	return h.Holder != "" && h.Until != nil && h.Until.After(now)
}

// Stuck says why a home does not wake, or not as it should, which it cannot tell people itself.
func (h Home) Stuck(now time.Time) string {
	t := h.State.Next
	if h.Holder != "" {
		t = h.Until // whose worker is gone is to be taken over then
	}
	who := strings.TrimSuffix("a worker with "+strings.Join(h.Needs, ", "), " with ")
	switch {
	case h.State.Problem != "":
		return h.State.Problem
	case h.Holder == "" && h.Ordered != nil && now.Sub(*h.Ordered) > late:
		return fmt.Sprintf("nobody did what was ordered at %s: is %s there, and Temporal?", h.Ordered.Local().Format("15:04"), who)
	case t == nil || now.Sub(*t) <= late:
		return ""
	}
	return fmt.Sprintf("nobody woke it at %s: is %s there, and Temporal?", t.Local().Format("15:04"), who)
}

// Attention says why a home needs a person; nothing is that it does not.
func (h Home) Attention(now time.Time) (why []string) {
	if stuck := h.Stuck(now); stuck != "" {
		why = append(why, stuck)
	}
	if n := h.State.Waiting; n > 0 {
		why = append(why, text.Count(n, "approval")+" to give")
	}
	if h.State.Error != "" {
		why = append(why, h.State.Outcome+": "+h.State.Error)
	}
	return why
}

// Away says that nobody has heard of a worker for a while.
func (w Worker) Away(now time.Time) bool { return now.Sub(w.Seen) > late }

// Takes says that a worker takes a home, or its orders.
func (w Worker) Takes(h Home, now time.Time) bool {
	return !w.Away(now) && !w.Draining && !slices.ContainsFunc(h.Needs, func(l string) bool { return l != OnWorker(w.Name) && !slices.Contains(w.Labels, l) })
}

// OnWorker is the label that one worker alone has.
func OnWorker(name string) string { return "worker:" + name }

// NewestOrders are those of a home that are not done, and the newest that are, up to some;
// without their inputs, which viewers may not read.
func (s *Store) NewestOrders(ctx context.Context, home int64, most int) ([]Order, error) {
	return s.orders(ctx, `''::bytea`, `where home = $1 and (done is null or id in (select id from rouse.orders where home = $1 and done is not null order by id desc limit $2)) order by done is not null, id desc`, home, most)
}

// LinesAfter are the lines of a home behind one, 0 for none, with the number of the last.
func (s *Store) LinesAfter(ctx context.Context, home, after int64) (lines []mirror.Line, last int64, err error) {
	rows, err := s.conn.Query(ctx, `select n, path, at, data from rouse.lines where home = $1 and n > $2 order by n`, home, after)
	if err != nil {
		return nil, after, told(err)
	}
	defer rows.Close()
	for last = after; rows.Next(); {
		var line mirror.Line
		if err := rows.Scan(&last, &line.Path, &line.At, &line.Data); err != nil {
			return nil, after, told(err)
		}
		line.Whole, line.At = line.At < 0, max(0, line.At)
		lines = append(lines, line)
	}
	return lines, last, told(rows.Err())
}

// Reads says whether this login may read what is in homes.
func (s *Store) Reads(ctx context.Context) (may bool, err error) {
	err = s.conn.QueryRow(ctx, `select has_table_privilege('rouse.contents', 'select')`).Scan(&may)
	return may, told(err)
}
