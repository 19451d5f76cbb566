-- A manifest that is large is kept in pieces, among the chunks: what it has in common with that
-- of before is there once. Its row has the list of their sums, or a list of lists: `levels` says
-- how deep. A program of before takes such a row for damaged, and neither wakes nor removes anything.
alter table rouse.versions add levels smallint not null default 0;

-- Strangers ask what became of what they sent to a hook.
create index on rouse.orders (home, (argv[3])) where argv[1] = 'hook';
