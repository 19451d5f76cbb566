package store_test

import (
	"fmt"
	"strings"
	"testing"
)

// A worker's login neither runs anything as who owns the store, by types of its own that a
// function would take for others, nor takes what other tenants are about to use, nor says who
// ordered something.
func TestTenantsApart(t *testing.T) {
	dsn, _ := migrated(t)
	sql(t, dsn, `do $$ begin create role hostile login; exception when duplicate_object then null; end $$;
		grant rouse_worker to hostile; insert into rouse.members values ('hostile', 'hostile');
		insert into rouse.homes (tenant, name, epoch, holder) values ('hostile', 'theirs', 1, 'them')`)
	const as = `set session authorization hostile; `
	got := sql(t, dsn, as+`create table pg_temp.ran (who pg_catalog.text); grant all on pg_temp.ran to public;
		create function pg_temp.check(v pg_catalog.text) returns boolean language plpgsql as $$ begin insert into pg_temp.ran values (current_user); return true; end $$;
		create domain pg_temp.text as pg_catalog.text check (pg_temp.check(value));
		select rouse.reserve(id, 1, 5), rouse.settle(id, 1, 5), rouse.prune_versions(1000) from rouse.homes;
		select coalesce(string_agg(who, ','), 'nobody') from pg_temp.ran`)
	if !strings.Contains(got, "nobody") {
		t.Errorf("a type of who called was taken: %s", got)
	}
	for _, name := range []string{"..", "-x", "a/b", "a\nb", "ü", ""} {
		if out := sql(t, dsn, fmt.Sprintf(as+`do $$ begin insert into rouse.homes (name, holder, epoch) values ('%s', 'them', 1); exception when check_violation then raise notice 'refused'; end $$`, name)); !strings.Contains(out, "refused") {
			t.Errorf("%q is a name: %s", name, out)
		}
	}
	for _, bad := range []string{
		`insert into rouse.homes (id, name, holder, epoch) overriding system value values (900, 'x', 'them', 1)`,
		`insert into rouse.orders (id, home, argv) overriding system value select 900, id, '{tell}' from rouse.homes`,
		`insert into rouse.orders (home, argv, by) select id, '{tell}', 'anna' from rouse.homes`,
		`update rouse.orders set argv = '{tell,other}'`,
		`insert into rouse.rules (id, home, tool, homes, ttl) overriding system value select 900, id, 'x', '{}', '1 day' from rouse.homes`,
		`insert into rouse.homes (tenant, name, holder, epoch) values ('main', 'x', 'them', 1)`,
	} {
		if got := sql(t, dsn, as+`do $$ begin `+bad+`; exception when insufficient_privilege then raise notice 'refused'; end $$`); !strings.Contains(got, "refused") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}
