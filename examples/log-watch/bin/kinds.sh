#!/bin/sh
# Prints the kinds of errors in a log that errors.md does not tell of yet, the most frequent first: a line
# without what is different each time, with how often it is there. With "none" it ends with 1 if there is any.
log=/var/log/app/error.log
[ -r "$log" ] || { echo "$log cannot be read: is it the path of the log, and may this user read it?" >&2; exit 2; }
kinds=$(tail -c 20000000 "$log" | LC_ALL=C awk '
	BEGIN { while ((getline line <"errors.md") > 0) if (sub(/^- /, "", line)) told[line] = 1 }
	tolower($0) ~ /error|fatal|panic|critical|exception/ {
		gsub(/[^ -~]/, "?")                         # what a terminal or a model would not see as it is
		gsub(/[0-9a-fA-F]*[0-9]([0-9a-fA-F:.,TZ+-]*[0-9a-fA-FZ])?/, "#")
		kind = substr($0, 1, 200)
		sub(/ +$/, "", kind)
		if (!(kind in told)) count[kind]++
	}
	END { for (kind in count) print count[kind] "\t" kind }' | sort -rn | head -n 30)
[ -n "$kinds" ] || exit 0
[ "${1-}" = none ] || { echo "$kinds"; exit; }
echo "$(echo "$kinds" | wc -l) kinds are not told of; new_kinds prints them" >&2 # not what a line says: this goes to people
exit 1
