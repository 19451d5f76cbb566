#!/bin/sh
# Before the package goes: what was enabled of its timers would look for a program that is gone.
[ "$1" = remove ] || exit 0
for link in /etc/systemd/system/timers.target.wants/rouse@*.timer; do
	[ -L "$link" ] || continue
	[ ! -d /run/systemd/system ] || systemctl stop "${link##*/}" || true
	rm -f "$link"
done
