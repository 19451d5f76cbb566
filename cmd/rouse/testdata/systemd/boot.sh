#!/bin/sh
# Usage: boot.sh FOLDER. Starts systemd as the first process of namespaces of its own, over
# this machine's files: what it writes is in memory and goes with it, and it can load no
# module, set no clock and reach no network. It runs FOLDER/night.sh and ends.
set -eu
folder=$1 self=$(realpath "$0")
case ${2-} in
'')
	exec unshare --mount --propagation private sh "$self" "$folder" group
	;;
group)
	mount -t cgroup2 cgroup2 "$folder/cgroup"
	mine=$folder/cgroup/rouse-test-$$
	mkdir "$mine"
	trap 'find "$mine" -depth -type d -exec rmdir {} \;' EXIT
	sh -c 'echo $$ >"$0/cgroup.procs" && exec unshare --pid --fork --kill-child --cgroup --uts --ipc --net --mount sh "$1" "$2" init' "$mine" "$self" "$folder"
	;;
init)
	cd "$folder/root"
	mount -t tmpfs tmpfs .
	cd . && cd "$folder/root" && mkdir upper work all
	mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay all
	cd all
	mount -t proc proc proc
	mount --bind proc/sys proc/sys
	mount -o remount,ro,bind proc/sys
	mount -t sysfs -o ro sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t tmpfs -o mode=755 tmpfs dev
	for d in null zero full random urandom tty; do
		: >dev/$d
		mount --bind /dev/$d dev/$d
	done
	ln -s /proc/self/fd dev/fd
	mkdir -p dev/shm dev/pts rouse .old
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
	ln -s pts/ptmx dev/ptmx
	mount -t tmpfs -o mode=755 tmpfs run
	for d in tmp dev/shm; do mount -t tmpfs -o mode=1777 tmpfs $d; done
	# Nothing of what this machine starts: only what comes with systemd, and the night.
	for d in etc/systemd/system etc/systemd/user; do mount -t tmpfs -o mode=755 tmpfs $d; done
	: >etc/fstab
	cp "$folder/night.service" etc/systemd/system/
	mount --bind "$folder" rouse
	pivot_root . .old
	umount -l /.old
	exec env -i container=rouse PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --bounding-set=-sys_module,-sys_time,-sys_rawio,-syslog \
		/lib/systemd/systemd --system --unit=night.service --show-status=0 --log-target=console --log-level=notice
	;;
esac
