package proof

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rouse/agent/history"
	"rouse/agent/schedule"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/jsonl"
	"rouse/journal"
	"rouse/scratchpad"
)

// callID is how a call is known everywhere: it is in its arguments, and it writes it outside.
var callID = regexp.MustCompile(`call-[0-9]+-[0-9]+`)

// witness keeps of a store what it forgets: who took homes when, and which calls were mirrored.
const witness = `
create table public.witness_taken (home bigint, epoch bigint, holder text, at timestamptz default clock_timestamp(), ended bool default false);
create index on public.witness_taken (home, epoch);
create table public.witness_calls (id text primary key);
create function public.witness_home() returns trigger language plpgsql as $$ begin
	if new.epoch > old.epoch then insert into public.witness_taken values (new.id, new.epoch, new.holder); end if;
	if new.version > old.version then update public.witness_taken set ended = true where home = new.id and epoch = new.epoch; end if;
	return null; end $$;
create trigger witness after update on rouse.homes for each row execute function public.witness_home();
create function public.witness_line() returns trigger language plpgsql as $$ begin
	insert into public.witness_calls select m[1] from regexp_matches(encode(new.data, 'escape'), '(call-[0-9]+-[0-9]+)', 'g') m on conflict do nothing;
	return null; end $$;
create trigger witness after insert on rouse.lines for each row execute function public.witness_line();`

// Watch lets the store of a DSN be watched from now on.
func Watch(ctx context.Context, dsn string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, witness)
	return cmp.Or(err, c.Close(ctx))
}

// Collect reads what a store that was watched has of its homes.
func Collect(ctx context.Context, dsn string) (h History, err error) {
	s, err := store.Open(ctx, dsn)
	if err != nil {
		return h, err
	}
	defer s.Close()
	db, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return h, err
	}
	defer db.Close()
	c := &collector{s: s, db: db}
	all, err := s.Homes(ctx)
	for _, is := range all {
		if err == nil {
			err = c.home(ctx, &h, is)
		}
	}
	if err != nil {
		return h, err
	}
	rows, _ := db.Query(ctx, `select h.name, w.epoch, coalesce(w.holder, ''), w.at, w.ended from witness_taken w join rouse.homes h on h.id = w.home order by w.at`)
	if h.Taken, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Taken]); err != nil {
		return h, err
	}
	rows, _ = db.Query(ctx, `select id from witness_calls`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	h.Mirrored = map[string]bool{}
	for _, id := range ids {
		h.Mirrored[id] = true
	}
	return h, err
}

type collector struct {
	s  *store.Store
	db *pgxpool.Pool
}

// home reads all versions of a home, and the journals and the ledger of the newest.
func (c *collector) home(ctx context.Context, h *History, is store.Home) error {
	out := Home{Name: is.Name, Epoch: is.Epoch}
	lines, err := c.s.Lines(ctx, is.ID)
	if err != nil {
		return err
	}
	out.Lines = len(lines)
	rows, _ := c.db.Query(ctx, `select epoch, maker, manifest from rouse.versions where home = $1 order by version`, is.ID)
	defer rows.Close()
	var newest *history.Version
	for rows.Next() {
		var v Version
		var manifest []byte
		if err := rows.Scan(&v.Epoch, &v.Maker, &manifest); err != nil {
			return err
		}
		if newest, err = history.Parse(manifest); err != nil {
			return err
		}
		if err := c.version(ctx, &v, newest); err != nil {
			return fmt.Errorf("%s, epoch %d: %w", is.Name, v.Epoch, err)
		}
		out.Versions = append(out.Versions, v)
	}
	if err := rows.Err(); err != nil || newest == nil {
		return err
	}
	for e := range newest.All() {
		dir, base := path.Split(e.Path)
		switch {
		case e.Path == (home.Home{}).Slots():
			err = c.ledger(ctx, &out, e.Is)
		case dir == "logs/" && strings.HasSuffix(base, string(home.JournalFile)) && home.CycleOf(base) != "":
			err = c.cycle(ctx, &out, home.CycleOf(base), e.Is)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", is.Name, e.Path, err)
		}
	}
	h.Homes = append(h.Homes, out)
	return nil
}

// version reads what the memory of a version says, and which journals it has.
func (c *collector) version(ctx context.Context, v *Version, of *history.Version) error {
	for e := range of.All() {
		if base := path.Base(e.Path); strings.HasPrefix(e.Path, "logs/") && strings.HasSuffix(base, string(home.JournalFile)) && home.CycleOf(base) != "" {
			v.Journals = append(v.Journals, home.CycleOf(base))
		}
		if e.Path != (home.Home{}).Active() {
			continue
		}
		data, err := c.content(ctx, e.Is)
		if err != nil {
			return err
		}
		state, err := scratchpad.Parse(e.Path, data)
		if err != nil {
			return err
		}
		for _, key := range state.Keys() {
			if strings.HasPrefix(key, said) {
				v.Memory = append(v.Memory, key)
			}
		}
	}
	return nil
}

func (c *collector) content(ctx context.Context, sum string) ([]byte, error) {
	r, err := c.s.Content(ctx, sum)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func (c *collector) ledger(ctx context.Context, out *Home, sum string) error {
	data, err := c.content(ctx, sum)
	if err != nil {
		return err
	}
	for r, err := range jsonl.Values[schedule.Record](bytes.NewReader(data)) {
		if err != nil {
			return err
		}
		out.Ledger = append(out.Ledger, r)
	}
	return nil
}

// cycle reads a journal.
func (c *collector) cycle(ctx context.Context, out *Home, id, sum string) error {
	data, err := c.content(ctx, sum)
	if err != nil {
		return err
	}
	is, steps := Cycle{ID: id}, map[int]int{}
	for e, err := range journal.ReadFrom(bytes.NewReader(data)) {
		if err != nil {
			return err
		}
		for _, change := range journal.Changes(e) {
			if strings.HasPrefix(change.Key, said) {
				is.Said = append(is.Said, change.Key)
			}
		}
		switch d := e.Data.(type) {
		case *journal.Wake:
			is.Owner = d.Owner
		case *journal.Intent:
			if id := callID.FindString(string(d.Args)); id != "" && d.Tool == "shell" {
				steps[d.Step] = len(is.Calls)
				is.Calls = append(is.Calls, Call{ID: id})
			}
		case *journal.Result:
			if n, ok := steps[d.Step]; ok {
				is.Calls[n].Result = true
			}
		case *journal.End:
			for _, change := range d.Changes {
				text, _ := change.Value.(string)
				_, calls, _ := strings.Cut(text, "outcome unknown")
				is.name(calls)
			}
		case *journal.Sleep:
			is.Slept, is.Lost = true, d.Outcome == journal.Lost
		}
	}
	out.Cycles = append(out.Cycles, is)
	return nil
}

// name takes note of the calls that a text names as unknown.
func (c *Cycle) name(text string) {
	for _, id := range callID.FindAllString(text, -1) {
		for n := range c.Calls {
			c.Calls[n].Named = c.Calls[n].Named || c.Calls[n].ID == id
		}
	}
}
