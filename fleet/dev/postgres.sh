#!/bin/sh
# postgres.sh DIR [OPTION]...: a Postgres of the folder, made there first where there is none,
# at a socket in it alone. As root it is an ordinary user's, as Postgres refuses root. What
# runs in the end is the server itself.
set -eu
dir=$1
shift
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n | tail -n 1) # Debian's are in no PATH
[ -x "$bin/initdb" ] || bin=$(dirname "$(command -v initdb || echo /none/initdb)")
[ -x "$bin/initdb" ] || exit 69
mkdir -p -m 700 "$dir"
cd "$dir"
as=
if [ "$(id -u)" = 0 ]; then
	user=postgres
	id "$user" >/dev/null 2>&1 || user=nobody
	chown "$user" .
	as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups --"
fi
if [ ! -d data ]; then
	rm -rf data.new # of one that was killed
	$as "$bin/initdb" -D data.new -U rouse -A trust -E UTF8 --locale=C >/dev/null
	mv data.new data
fi
exec $as "$bin/postgres" -D data -k "$dir" -c listen_addresses= "$@"
