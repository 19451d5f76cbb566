package proc

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// leftoverTime is how long [EndLeftovers] goes on.
const leftoverTime = 2 * time.Second

// EndLeftovers ends what a Rouse that was killed left running, and returns the
// PIDs that it ended. A process is a leftover if it was started with the mark
// (empty matches none), if it is one of ids, if it is in the session that one
// of ids led, or if it descends from such a one. A PID alone proves nothing: the
// start time must fit, within the same boot. This process and those above it
// are spared. An error names what could not be ended within two seconds.
//
// What left its session and also cleared or overwrote its environment is not
// found once its parents are gone.
func EndLeftovers(mark string, ids []Identity) (ended []int, err error) {
	boot := bootID()
	ids = slices.DeleteFunc(slices.Clone(ids), func(i Identity) bool { return i.Boot != boot || i.Start == 0 })
	deadline := time.Now().Add(leftoverTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := leftovers(mark, ids)
		if len(left) == 0 {
			return ended, nil
		}
		if time.Now().After(deadline) {
			return ended, fmt.Errorf("end leftovers: still running: %v", pids(left))
		}
		for _, s := range left {
			if endVerified(s) && !slices.Contains(ended, s.pid) {
				ended = append(ended, s.pid)
			}
		}
		time.Sleep(pause)
	}
}

// endVerified kills s if its PID still is its own. The pidfd holds on to the
// process itself, whoever gets the PID later.
func endVerified(s stat) bool {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	now, ok := readStat(s.pid)
	if !ok || now.start != s.start || now.session != s.session || now.dead() {
		return false
	}
	if now.group > 1 {
		unix.Kill(-now.group, unix.SIGKILL)
	}
	if fd >= 0 {
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
	}
	return unix.Kill(s.pid, unix.SIGKILL) == nil // before Linux 5.3
}

// leftovers lists the living leftovers of this moment.
func leftovers(mark string, ids []Identity) []stat {
	all := map[int]stat{}
	for _, pid := range numbers("/proc") {
		if s, ok := readStat(pid); ok && !s.dead() {
			all[pid] = s
		}
	}
	spared := ancestors(all)
	found := map[int]stat{}
	for pid, s := range all {
		if !spared[pid] && leftover(s, mark, ids, all) {
			found[pid] = s
		}
	}
	for grown := true; grown; { // and what descends from them
		grown = false
		for pid, s := range all {
			_, parent := found[s.parent]
			if _, known := found[pid]; parent && !known && !spared[pid] {
				found[pid], grown = s, true
			}
		}
	}
	return slices.Collect(maps.Values(found))
}

func pids(stats []stat) []int {
	var ns []int
	for _, s := range stats {
		ns = append(ns, s.pid)
	}
	return ns
}

// ancestors are this process and those above it.
func ancestors(all map[int]stat) map[int]bool {
	found := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !found[pid]; pid = all[pid].parent {
		found[pid] = true
	}
	return found
}

func leftover(s stat, mark string, ids []Identity, all map[int]stat) bool {
	if mark != "" && numberIn(marks(s.pid), mark) > 0 {
		return true
	}
	return slices.ContainsFunc(ids, func(id Identity) bool { return belongs(s, id, all) })
}

// belongs tells whether s is the process id or in the session that it led. A
// session's id stays taken as long as it has members; where its leader is not
// the one we know, it is another session with the same number.
func belongs(s stat, id Identity, all map[int]stat) bool {
	if s.pid == id.PID {
		return s.start == id.Start
	}
	leader, ok := all[id.Session]
	return s.session == id.Session && id.Session == id.PID && s.start >= id.Start && (!ok || leader.start == id.Start)
}
