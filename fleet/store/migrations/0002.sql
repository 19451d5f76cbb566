-- Workers: what a cycle that is awake mirrors, what operators order, who wakes homes.

-- What a home needs of who wakes it: labels of workers, the names of its keys; and what is
-- shown of it: how its last cycle went and when it wakes next.
alter table rouse.homes add constraint name check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'), -- it is that of folders, too
	add needs text[] not null default '{}', add keys text[] not null default '{}', add state jsonb not null default '{}';

-- What the cycle of an epoch added to its journal and ledgers, until a version has it.
drop table rouse.intents;
create table rouse.lines (
	home bigint not null references rouse.homes,
	epoch bigint not null,
	n bigint generated always as identity,
	path text not null,
	at bigint not null, -- below 0: the file is now this
	data bytea not null,
	primary key (home, epoch, n)
);
alter table rouse.lines alter data set storage external;

-- What an operator wants done in a home, by a command of rouse, once.
create table rouse.orders (
	id bigint generated always as identity primary key,
	home bigint not null references rouse.homes,
	made timestamptz not null default now(),
	by name not null default session_user,
	argv text[] not null,
	input bytea not null default '',
	done timestamptz,
	exit int,
	said text
);
create index on rouse.orders (home) where done is null;

-- Who wakes homes.
create table rouse.workers (
	tenant text not null default rouse.tenant(),
	name text not null,
	labels text[] not null default '{}',
	program text not null default '',
	listen text not null default '',
	awake int not null default 0,
	draining boolean not null default false,
	seen timestamptz not null default now(),
	primary key (tenant, name)
);

alter table rouse.lines enable row level security;
alter table rouse.orders enable row level security;
alter table rouse.workers enable row level security;
drop policy tenant on rouse.versions;
create policy tenant on rouse.versions using (exists (select from rouse.homes h where h.id = versions.home)); -- not all homes for each
create policy tenant on rouse.lines using (exists (select from rouse.homes h where h.id = lines.home));
create policy tenant on rouse.orders using (exists (select from rouse.homes h where h.id = orders.home));
create policy tenant on rouse.workers using (tenant = (select rouse.tenant()));
grant select, insert, delete on rouse.lines to rouse_worker;
-- Ids, and who ordered when, are the store's to say: whoever chose ids would take those of others.
revoke insert on rouse.homes from rouse_worker;
grant insert (name, holder, epoch) on rouse.homes to rouse_worker;
grant select, insert (home, argv, input), update (done, exit, said) on rouse.orders to rouse_worker;
grant select, insert, update, delete on rouse.workers to rouse_worker;
grant select (id, home, made, by, argv, done, exit, said) on rouse.orders to rouse_viewer;
grant select on rouse.workers to rouse_viewer;

-- What keeps the store small. A content and a chunk were last counted on when they were
-- `seen`; an upload into a home that goes on began when it is `sending`. So what nobody
-- names and nobody counts on is what was seen before the horizon.
alter table rouse.contents add seen timestamptz not null default clock_timestamp();
alter table rouse.chunks add seen timestamptz not null default clock_timestamp();
alter table rouse.homes add sending timestamptz;

-- Chunks of large contents lie in a bucket, where the fleet has one; their row has no data
-- then. What stands in trash may be in the bucket without a row: prune removes it there.
alter table rouse.fleet add s3 text not null default '';
alter table rouse.chunks alter data drop not null;
create table rouse.trash (tenant text not null default rouse.tenant(), sum bytea, seen timestamptz not null default clock_timestamp(), primary key (tenant, sum));

-- What the owner sets for a tenant: limits of money in millionths, and how many homes may be
-- awake, null for none; what one cycle reserves whose home says nothing; for how many days
-- versions are kept, and when prune last ran.
create table rouse.limits (
	tenant text primary key default rouse.tenant(),
	day bigint,
	month bigint,
	awake int,
	each bigint not null default 1000000,
	keep int not null default 30
);
create table rouse.pruned (tenant text primary key default rouse.tenant(), at timestamptz not null);

-- What was spent and reserved on a day of UTC by a home, and by all of a tenant under home 0;
-- and the reservations of cycles that have not ended.
create table rouse.spends (tenant text not null default rouse.tenant(), home bigint, day date, amount bigint not null default 0, primary key (tenant, home, day));
create table rouse.reserves (home bigint references rouse.homes, epoch bigint, day date not null, amount bigint not null, primary key (home, epoch));

alter table rouse.trash enable row level security;
alter table rouse.limits enable row level security;
alter table rouse.pruned enable row level security;
alter table rouse.spends enable row level security;
alter table rouse.reserves enable row level security;
create policy tenant on rouse.trash using (tenant = (select rouse.tenant()));
create policy tenant on rouse.limits using (tenant = (select rouse.tenant()));
create policy tenant on rouse.pruned using (tenant = (select rouse.tenant()));
create policy tenant on rouse.spends using (tenant = (select rouse.tenant()));
create policy tenant on rouse.reserves using (exists (select from rouse.homes h where h.id = reserves.home));
grant update (seen) on rouse.contents, rouse.chunks to rouse_worker;
grant select, insert, update, delete on rouse.trash to rouse_worker;
grant select, insert, update on rouse.pruned to rouse_worker;
grant select on rouse.limits, rouse.spends, rouse.reserves to rouse_worker, rouse_viewer;

-- Functions find their types and tables where they mean to: a path without pg_temp has it
-- first, and with it types of who calls, whose checks would run as the owner.
alter function rouse.tenant() set search_path = pg_catalog, pg_temp;

-- Today and the first of its month.
create function rouse.today() returns date language sql stable set search_path = pg_catalog, pg_temp as $$ select (clock_timestamp() at time zone 'UTC')::date $$;

-- Takes an amount out of a tenant's limits for the cycle of a lease, and says which limit
-- has no room for it, null for none. Who races waits for the row of the limits, and then
-- sees what the others took, as each statement of a function looks anew.
create function rouse.reserve(h bigint, e bigint, want bigint, out broke text, out max bigint, out used bigint, out free timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
	t text := rouse.tenant();
	l rouse.limits;
	d date;
begin
	select * into l from rouse.limits where tenant = t for update;
	d := rouse.today();
	perform from rouse.homes where tenant = t and id = h and epoch = e and holder is not null for update;
	if not found then
		broke := 'lost';
		return;
	end if;
	perform from rouse.reserves where home = h and epoch = e; -- a lease reserves once
	if found then
		return;
	end if;
	select count(*), min(deadline) into used, free from rouse.reserves r join rouse.homes o on o.id = r.home and o.epoch = r.epoch
		where o.tenant = t and o.holder is not null and o.deadline > clock_timestamp();
	if used >= l.awake then
		broke := 'awake'; max := l.awake;
		return;
	end if;
	select coalesce(sum(amount), 0) into used from rouse.spends where tenant = t and home = 0 and day >= date_trunc('month', d)::date;
	if used + want > l.month then
		broke := 'month'; max := l.month; free := (date_trunc('month', d) + interval '1 month') at time zone 'UTC';
		return;
	end if;
	select coalesce(sum(amount), 0) into used from rouse.spends where tenant = t and home = 0 and day = d;
	if used + want > l.day then
		broke := 'day'; max := l.day; free := (d + 1)::timestamp at time zone 'UTC';
		return;
	end if;
	delete from rouse.reserves where home = h; -- of cycles that were lost: what they took stays spent
	insert into rouse.reserves values (h, e, d, want);
	perform rouse.spend(h, d, want);
end $$;

-- Adds to what a home spent on a day.
create function rouse.spend(h bigint, d date, more bigint) returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
	insert into rouse.spends (home, day, amount) values (h, d, more), (0, d, more)
	on conflict (tenant, home, day) do update set amount = spends.amount + excluded.amount $$;

-- Puts what a cycle spent in the place of what it reserved.
create function rouse.settle(h bigint, e bigint, spent bigint) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare r rouse.reserves;
begin
	perform from rouse.homes where tenant = rouse.tenant() and id = h and epoch = e;
	if not found then
		return;
	end if;
	delete from rouse.reserves where home = h and epoch = e returning * into r;
	if r.home is not null or spent <> 0 then
		perform rouse.spend(h, coalesce(r.day, rouse.today()), spent - coalesce(r.amount, 0));
	end if;
end $$;

-- Who does not own the store removes no more than its limits say.
create function rouse.may_remove(older interval, youngest interval) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
	if older < youngest and not pg_has_role(session_user, (select relowner from pg_catalog.pg_class where oid = 'rouse.versions'::regclass), 'member') then
		raise insufficient_privilege using message = format('who does not own the store keeps what is younger than %s', youngest);
	end if;
end $$;

-- The versions that need not be kept: not the newest 10 of a home, not younger than some
-- days, none whose slot may still be asked for.
create function rouse.stale(days int) returns table (home bigint, version int) language sql stable set search_path = pg_catalog, pg_temp as $$
	select v.home, v.version from rouse.versions v join rouse.homes h on h.id = v.home
	where h.tenant = rouse.tenant() and v.version <= h.version - 10 and v.made < now() - days * interval '1 day'
	and (v.slot is null or v.made < now() - interval '2 days') $$;

-- Before when something was last counted on that nobody counts on now. An upload that goes
-- on for a week is none.
create function rouse.horizon(grace interval) returns timestamptz language sql volatile set search_path = pg_catalog, pg_temp as $$
	select least(clock_timestamp() - grace, min(sending)) from rouse.homes where tenant = rouse.tenant() and sending > clock_timestamp() - interval '7 days' $$;

create function rouse.prune_versions(days int) returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare n bigint;
begin
	perform rouse.may_remove(days * interval '1 day', coalesce((select keep from rouse.limits where tenant = rouse.tenant()), 30) * interval '1 day');
	delete from rouse.versions v using rouse.stale(days) s where v.home = s.home and v.version = s.version;
	get diagnostics n = row_count;
	delete from rouse.orders o using rouse.homes h where h.id = o.home and h.tenant = rouse.tenant() and o.done < now() - days * interval '1 day';
	delete from rouse.shared s using rouse.homes h where h.id = s.home and h.tenant = rouse.tenant() and s.expires < now() - interval '60 days';
	delete from rouse.spends where tenant = rouse.tenant() and day < now() - interval '400 days';
	return n;
end $$;

create function rouse.prune_contents(sums bytea[], before timestamptz, out n bigint, out size bigint, out away bigint) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
	perform rouse.may_remove(now() - before, interval '1 day');
	before := least(before, rouse.horizon('0'));
	delete from rouse.contents where tenant = rouse.tenant() and seen < before and sum in (
		select c.sum from rouse.contents c where c.tenant = rouse.tenant() and c.sum = any(sums) order by c.sum for update);
	get diagnostics n = row_count;
	size := 0; away := 0;
end $$;

-- Chunks that lay in the bucket go into trash with their time.
create function rouse.prune_chunks(sums bytea[], before timestamptz, out n bigint, out size bigint, out away bigint) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
	perform rouse.may_remove(now() - before, interval '1 day');
	before := least(before, rouse.horizon('0'));
	with gone as (
		delete from rouse.chunks where tenant = rouse.tenant() and seen < before and sum in (
			select c.sum from rouse.chunks c where c.tenant = rouse.tenant() and c.sum = any(sums) order by c.sum for update)
		returning sum, seen, data),
	kept as (insert into rouse.trash (sum, seen) select g.sum, g.seen from gone g where data is null on conflict do nothing)
	select count(*), coalesce(sum(octet_length(data)), 0), count(*) filter (where data is null) into n, size, away from gone;
end $$;

revoke execute on function rouse.reserve, rouse.spend, rouse.settle, rouse.prune_versions, rouse.prune_contents, rouse.prune_chunks from public;
grant execute on function rouse.reserve, rouse.settle, rouse.prune_versions, rouse.prune_contents, rouse.prune_chunks to rouse_worker;

-- Observations of a home that others may read: the content is among the contents, which prune
-- keeps as long as one does not expire. A rule shares what a tool makes, each once.
create table rouse.rules (
	id bigint generated always as identity primary key,
	home bigint not null references rouse.homes,
	tool text not null,
	homes bigint[] not null,
	ttl interval not null,
	made timestamptz not null default clock_timestamp(),
	ended boolean not null default false
);
create table rouse.shared (
	id text primary key,
	home bigint not null references rouse.homes,
	observation text not null,
	rule bigint references rouse.rules,
	sum bytea not null,
	note jsonb not null,
	made timestamptz not null default clock_timestamp(),
	expires timestamptz not null,
	unique (rule, observation)
);
create index on rouse.shared (home);
create table rouse.readers ( -- who may read it
	home bigint not null references rouse.homes,
	shared text not null references rouse.shared on delete cascade,
	primary key (home, shared)
);
create index on rouse.readers (shared);
alter table rouse.rules enable row level security;
alter table rouse.shared enable row level security;
-- A few rows are looked at, so each looks up its home, and not all homes of the tenant are read.
create policy tenant on rouse.rules using (exists (select from rouse.homes h where h.id = rules.home));
alter table rouse.readers enable row level security;
create policy tenant on rouse.shared using (exists (select from rouse.homes h where h.id = shared.home))
	with check (exists (select from rouse.homes h where h.id = shared.home) and (rule is null or exists (select from rouse.rules r where r.id = rule)));
create policy tenant on rouse.readers using (exists (select from rouse.homes h where h.id = readers.home));
grant select, insert (home, tool, homes, ttl), update (ended) on rouse.rules to rouse_worker;
grant select, insert, update on rouse.shared, rouse.readers to rouse_worker;
