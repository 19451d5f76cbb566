# What a person does, with a systemd that is theirs: install, a minute comes, a cycle runs, it is
# stopped, it fails, uninstall. The last line says that all was as it should be.
set -eux
echo "systemd runs"
useradd --create-home rouse-test
uid=$(id -u rouse-test)
loginctl enable-linger rouse-test
systemctl start "user@$uid"
# sudo -u gives no more than this.
as() { (cd / && exec setpriv --reuid="$uid" --regid="$uid" --clear-groups env -i HOME=/home/rouse-test PATH=/rouse:/usr/bin:/bin "$@"); }
user() { as env XDG_RUNTIME_DIR="/run/user/$uid" systemctl --user "$@"; }
not() { if "$@"; then exit 1; fi; }
home='/home/rouse-test/a 100% $home'
units=/home/rouse-test/.config/systemd/user

as rouse init "$home"
cp /rouse/rouse.yaml /rouse/active.yaml /home/rouse-test
as cp /home/rouse-test/rouse.yaml "$home/rouse.yaml"
as cp /home/rouse-test/active.yaml "$home/scratchpad/active.yaml"
as sh -c 'umask 77; echo TZ=Asia/Kolkata >"$0/.env"' "$home"

as rouse install --home "$home" --via systemd '* * * * *' | tee /tmp/said
grep '^installed by systemd' /tmp/said
not grep linger /tmp/said
as rouse doctor --unattended --home "$home"
unit=$(basename "$units"/rouse-*.service)

# The minute comes.
set +x
n=0
until test -s "$home/workspace/started"; do
	n=$((n + 1))
	test $n -lt 100
	sleep 1
done
set -x
grep "^Asia/Kolkata\$" "$home/workspace/started"
as rouse status --home "$home" | grep '^cycle .* awake '

# It is told to end, saves, and that is no failure.
user stop "${unit%.service}.timer"
user stop "$unit"
test "$(user show "$unit" --property=Result --value)" = success
as rouse slots --home "$home" | grep ' exit 143  ended by SIGTERM$'
not pgrep -u rouse-test sleep
journalctl --no-pager | grep 'rouse: cycle .*: ended by SIGTERM'

# One that fails does fail, and uninstall leaves nothing of it.
as sh -c 'echo "nonsense: 1" >>"$0/rouse.yaml"' "$home"
not user start "$unit"
user --failed | grep "$unit"
user start "${unit%.service}.timer"
as rouse uninstall --home "$home"
test -z "$(user list-units --all --plain --no-legend 'rouse-*')"
test -z "$(find "$units" -name 'rouse-*')"

# Where the user has no systemd, that is said, and nothing is left.
loginctl disable-linger rouse-test
systemctl stop "user@$uid"
as cp /home/rouse-test/rouse.yaml "$home/rouse.yaml"
not as rouse install --home "$home" --via systemd '* * * * *' 2>/tmp/said
grep 'log in as this user, or call as root: loginctl enable-linger' /tmp/said
test -z "$(find "$units" -name 'rouse-*')"
echo "the night is over"
