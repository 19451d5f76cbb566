# What an administrator does with the units of the package, in a systemd of its own that prove.sh starts.
set -eux
echo "systemd runs"
mkdir /whole
mount -t proc proc /whole # as on a machine: where a part of each /proc is covered bubblewrap gets none of its own
dpkg -i /rouse/rouse.deb
useradd --create-home watcher
as() { runuser -u watcher -- env HOME=/home/watcher "$@"; }
as rouse init /home/watcher/rouse
cat >/home/watcher/rouse/rouse.yaml <<'Y'
model: {provider: offline}
schedule: '@every 1s'
posture: careful
sandbox: {network: none}
Y
touch -d '1 hour ago' /home/watcher/rouse/rouse.yaml
as sed -i 's/^current_task: .*/current_task: shell command="id -un"/' /home/watcher/rouse/scratchpad/initial.yaml
systemctl start rouse@watcher.service
as rouse log --home /home/watcher/rouse >/tmp/log
grep 'shell: watcher' /tmp/log
as rouse slots --home /home/watcher/rouse | grep ' ran .*task claimed'
systemctl enable --now rouse@watcher.timer
systemctl is-active rouse@watcher.timer
if systemctl start rouse@games.service; then exit 1; fi # it has no home, which is said
journalctl -u rouse@games.service --no-pager | grep 'rouse init'
dpkg --purge rouse
if systemctl is-active rouse@watcher.timer; then exit 1; fi
test -z "$(find /etc/systemd /run/systemd -name 'rouse@*')"
set +x
grep -o 'sandbox: .*' /tmp/log
echo "the night is over"
