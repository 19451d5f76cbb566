#!/bin/sh
# Ends with 0 if page.txt is what was last told of, or changes.md quotes at its end a line that differs.
differ=$(diff told.txt page.txt | sed -n 's/^[<>] *\(.......*\)/\1/p')
[ -z "$differ" ] || sed -n '/^## /h; /^## /!H; ${x;p;}' changes.md | grep -qF "$differ" || {
	echo "changes.md quotes no line that changed, such as: $(echo "$differ" | head -n 1 | cut -c 1-200)" >&2
	exit 1
}
