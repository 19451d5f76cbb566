package store

import (
	"context"
	"errors"
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

// Attention says why a home needs a person; nothing is that it does not.
func (h Home) Attention(now time.Time) (why []string) {
	if h.State.Problem != "" {
		why = append(why, h.State.Problem)
	}
	if n := h.State.Waiting; n > 0 {
		why = append(why, text.Count(n, "approval")+" to give")
	}
	if h.State.Error != "" {
		why = append(why, h.State.Outcome+": "+h.State.Error)
	}
	if t := h.State.Next; h.State.Problem == "" && t != nil && now.Sub(*t) > late && h.Holder == "" {
		why = append(why, fmt.Sprintf("nobody woke it at %s: is a worker there?", t.Local().Format("15:04")))
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

// LinesAfter are the lines of an epoch behind one, 0 for none, with the number of the last.
func (s *Store) LinesAfter(ctx context.Context, l Lease, after int64) (lines []mirror.Line, last int64, err error) {
	rows, err := s.conn.Query(ctx, `select n, path, at, data from rouse.lines where home = $1 and epoch = $2 and n > $3 order by n`, l.Home, l.Epoch, after)
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

// Orderable refuses commands of rouse that a worker cannot do in a home for somebody else:
// those that end only when they are told to, or are about its machine.
func Orderable(argv []string) error {
	switch verb := append(argv, "")[0]; {
	case verb == "" || verb[0] == '-':
		return errors.New("say a command of rouse, such as: rewind CYCLE")
	case slices.Contains([]string{"serve", "mcp", "init", "install", "uninstall", "backup", "restore", "vault", "completion"}, verb):
		return fmt.Errorf("rouse %s is about a machine: pull the home, and do it there", verb)
	case slices.ContainsFunc(argv, func(a string) bool { return a == "--home" || strings.HasPrefix(a, "--home=") || a == "--now" }):
		return errors.New("--home and --now cannot be ordered; rouse-fleet run has a cycle run")
	}
	return nil
}
