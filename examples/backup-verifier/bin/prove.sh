#!/bin/sh
# Ends with 0 if the newest backup is from the last 26 hours, can be unpacked, passes restored.sh, and backups.md has
# its SHA-256. With "list" it prints the backups, the newest first.
dir=/var/backups/app
bin=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
fail() { echo "$*" >&2; exit 1; }
list=$(ls -1t "$dir"/*.tar "$dir"/*.tar.* "$dir"/*.tgz 2>/dev/null)
[ -n "$list" ] || fail "there is no backup in $dir, or it cannot be read"
[ "${1-}" != list ] || { echo "$list"; exit; }
newest=$(echo "$list" | head -n 1)
[ -n "$(find "$newest" -mmin -1560)" ] || fail "the newest backup, $newest, is older than 26 hours"
restored=$(mktemp -d)
trap 'chmod -R u+w "$restored"; rm -rf "$restored"' EXIT
tar -tf "$newest" >/dev/null || fail "$newest cannot be unpacked"
tar -xf "$newest" -C "$restored" || fail "$newest can be read, but not be unpacked here: is there room in $restored?"
(cd "$restored" && sh "$bin/restored.sh") || fail "what was unpacked of $newest is not whole"
grep -q "$(sha256sum <"$newest" | cut -d ' ' -f 1)" backups.md || fail "backups.md does not have the SHA-256 of $newest"
