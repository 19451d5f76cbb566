#!/bin/sh
# Runs one cycle of this home; made for cron, whose PATH is bare. Arguments are passed on. Rouse reads .env itself: do not source it.
#   */15 * * * * /path/to/home/bin/run.sh
home=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 2
. "$home/bin/find.sh"
exec "$rouse" run --home "$home" "$@"
