-- Workers: what a cycle that is awake mirrors, what operators order, who wakes homes.

-- What a home needs of who wakes it: labels of workers, the names of its keys; and what is
-- shown of it: how its last cycle went and when it wakes next.
alter table rouse.homes add needs text[] not null default '{}', add keys text[] not null default '{}', add state jsonb not null default '{}';

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
create policy tenant on rouse.lines using (home in (select id from rouse.homes));
create policy tenant on rouse.orders using (home in (select id from rouse.homes));
create policy tenant on rouse.workers using (tenant = (select rouse.tenant()));
grant select, insert, delete on rouse.lines to rouse_worker;
grant select, insert, update on rouse.orders to rouse_worker;
grant select, insert, update, delete on rouse.workers to rouse_worker;
grant select (id, home, made, by, argv, done, exit, said) on rouse.orders to rouse_viewer;
grant select on rouse.workers to rouse_viewer;
