-- The store of a fleet. Whoever migrates owns it, and is of the tenant main.
create schema rouse;
revoke all on schema rouse from public;

create table rouse.schema (version int not null);
insert into rouse.schema values (0);
create table rouse.fleet (id uuid not null default gen_random_uuid());
insert into rouse.fleet default values;

-- Which tenant a login works for.
create table rouse.members (login name primary key, tenant text not null);
insert into rouse.members values (session_user, 'main');

create function rouse.tenant() returns text language sql stable security definer set search_path = '' as
	$$ select tenant from rouse.members where login = session_user $$;

-- A home, and who has it: under a lease with an epoch, until a deadline or, as a machine
-- that pulled it, without one.
create table rouse.homes (
	id bigint generated always as identity primary key,
	tenant text not null default rouse.tenant(),
	name text not null,
	version int not null default 0,
	epoch bigint not null default 0,
	holder text,
	deadline timestamptz,
	changed timestamptz not null default now(),
	unique (tenant, name)
);

-- A version of a home: its manifest is that of a history, its contents are below. With it
-- stand the slot whose cycle made it, which counts once, and what that spent, in millionths.
create table rouse.versions (
	home bigint not null references rouse.homes,
	version int not null,
	epoch bigint not null,
	made timestamptz not null default now(),
	maker text not null,
	slot text,
	spend bigint not null default 0,
	files int not null,
	bytes bigint not null,
	manifest bytea not null,
	primary key (home, version),
	unique (home, slot)
);

-- Calls that were about to start, each before it did.
create table rouse.intents (
	home bigint not null references rouse.homes,
	epoch bigint not null,
	step int not null,
	call text not null,
	at timestamptz not null default now(),
	primary key (home, epoch, step)
);

-- A content by its SHA-256, in chunks by theirs, each at most 1 MiB and compressed.
create table rouse.chunks (tenant text not null default rouse.tenant(), sum bytea, data bytea not null, primary key (tenant, sum));
alter table rouse.chunks alter data set storage external;
create table rouse.contents (tenant text not null default rouse.tenant(), sum bytea, chunks bytea[] not null, primary key (tenant, sum));

alter table rouse.homes enable row level security;
alter table rouse.versions enable row level security;
alter table rouse.intents enable row level security;
alter table rouse.chunks enable row level security;
alter table rouse.contents enable row level security;
create policy tenant on rouse.homes using (tenant = (select rouse.tenant()));
create policy tenant on rouse.chunks using (tenant = (select rouse.tenant()));
create policy tenant on rouse.contents using (tenant = (select rouse.tenant()));
create policy tenant on rouse.versions using (home in (select id from rouse.homes));
create policy tenant on rouse.intents using (home in (select id from rouse.homes));

-- A worker does all but migrate and delete; a viewer reads no manifest and no content,
-- among which are the memory and the journals' key.
do $$
declare name text;
begin
	foreach name in array array['rouse_worker', 'rouse_viewer'] loop
		begin -- roles are those of all databases, in which others migrate
			execute format('create role %I nologin', name);
		exception when duplicate_object or unique_violation then null;
		end;
	end loop;
end $$;
grant usage on schema rouse to rouse_worker, rouse_viewer;
grant select on rouse.fleet, rouse.schema, rouse.homes, rouse.intents to rouse_worker, rouse_viewer;
grant select (home, version, epoch, made, maker, slot, spend, files, bytes) on rouse.versions to rouse_viewer;
grant select on rouse.versions, rouse.chunks, rouse.contents to rouse_worker;
grant insert on rouse.homes, rouse.versions, rouse.intents, rouse.chunks, rouse.contents to rouse_worker;
grant update on rouse.homes to rouse_worker;
