#!/bin/sh
# Puts the memory of this home aside and begins anew; --clean also removes old logs and snapshots.
home=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 2
. "$home/bin/find.sh"
exec "$rouse" reset --home "$home" "$@"
