package proof

import (
	"bytes"
	"context"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"rouse/agent/history"
	"rouse/agent/schedule"
	"rouse/fleet/checkout"
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

// watch lets the store be watched from now on.
func (c *cluster) watch() {
	db, err := pgx.Connect(c.Context(), c.pg.DSN)
	c.must(err)
	defer db.Close(context.Background())
	_, err = db.Exec(c.Context(), witness)
	c.must(err)
}

// collect reads what the store, which was watched, has of its homes.
func (c *cluster) collect(s *store.Store) (h History) {
	db, err := pgx.Connect(c.Context(), c.pg.DSN)
	c.must(err)
	defer db.Close(context.Background())
	all, err := s.Homes(c.Context())
	c.must(err)
	for _, is := range all {
		h.Homes = append(h.Homes, c.home(s, db, is))
	}
	rows, _ := db.Query(c.Context(), `select h.name, w.epoch, coalesce(w.holder, ''), w.at, w.ended from witness_taken w join rouse.homes h on h.id = w.home order by w.at`)
	h.Taken, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Taken])
	c.must(err)
	rows, _ = db.Query(c.Context(), `select id from witness_calls`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	c.must(err)
	h.Mirrored = map[string]bool{}
	for _, id := range ids {
		h.Mirrored[id] = true
	}
	return h
}

// home reads all versions of a home, and the journals and the ledger of the newest.
func (c *cluster) home(s *store.Store, db *pgx.Conn, is store.Home) Home {
	out := Home{Name: is.Name, Epoch: is.Epoch}
	lines, err := s.Lines(c.Context(), is.ID)
	c.must(err)
	out.Lines = len(lines)
	rows, _ := db.Query(c.Context(), `select epoch, maker from rouse.versions where home = $1 order by version`, is.ID)
	out.Versions, err = pgx.CollectRows(rows, pgx.RowToStructByNameLax[Version])
	c.must(err)
	newest := new(history.Version)
	for n := range out.Versions {
		newest, _, err = checkout.VersionOf(c.Context(), s, is.ID, out.Versions[n].Epoch)
		c.must(err)
		c.version(s, &out.Versions[n], newest)
	}
	for e := range newest.All() {
		if e.Path == (home.Home{}).Slots() {
			for r, err := range jsonl.Values[schedule.Record](bytes.NewReader(c.content(s, e))) {
				c.must(err)
				out.Ledger = append(out.Ledger, r)
			}
		}
		if id := journalOf(e); id != "" {
			out.Cycles = append(out.Cycles, c.cycle(id, c.content(s, e)))
		}
	}
	return out
}

// journalOf is the cycle whose journal a file is, "" for any other.
func journalOf(e history.Entry) string {
	if dir, base := path.Split(e.Path); dir == "logs/" && strings.HasSuffix(base, string(home.JournalFile)) {
		return home.CycleOf(base)
	}
	return ""
}

// version reads what the memory of a version says, and which journals it has.
func (c *cluster) version(s *store.Store, v *Version, of *history.Version) {
	for e := range of.All() {
		if id := journalOf(e); id != "" {
			v.Journals = append(v.Journals, id)
		}
		if e.Path != (home.Home{}).Active() {
			continue
		}
		state, err := scratchpad.Parse(e.Path, c.content(s, e))
		c.must(err)
		for _, key := range state.Keys() {
			if strings.HasPrefix(key, said) {
				v.Memory = append(v.Memory, key)
			}
		}
	}
}

func (c *cluster) content(s *store.Store, e history.Entry) []byte {
	r, err := s.Content(c.Context(), e.Is)
	c.must(err)
	data, err := io.ReadAll(r)
	c.must(err)
	return data
}

// cycle reads a journal.
func (c *cluster) cycle(id string, data []byte) Cycle {
	is, steps := Cycle{ID: id}, map[int]int{}
	for e, err := range journal.ReadFrom(bytes.NewReader(data)) {
		c.must(err)
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
	return is
}

// name takes note of the calls that a text names as unknown.
func (c *Cycle) name(text string) {
	for _, id := range callID.FindAllString(text, -1) {
		for n := range c.Calls {
			c.Calls[n].Named = c.Calls[n].Named || c.Calls[n].ID == id
		}
	}
}
