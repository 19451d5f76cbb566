#!/bin/sh
# Ends with 0 if page.txt is what was last told of, or changes.md quotes below its last "## " a line that differs.
differ=$(diff told.txt page.txt | sed -n 's/^[<>] \(......*\)/\1/p')
[ -z "$differ" ] || sed -n '/^## /h; /^## /!H; ${x;p;}' changes.md 2>/dev/null | grep -qF "$differ" || {
	echo "changes.md quotes below its last ## no line that compare printed" >&2
	exit 1
}
