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
// of a Runner or of one of its processes (empty matches none), if it is one of ids, if it is in the session that one
// of ids led, or if it descends from such a one. A PID alone proves nothing: the
// start time must fit, within the same boot. This process and those above it
// are spared. An error names what could not be ended within two seconds.
//
// What left its session and also cleared or overwrote its environment is known by
// the brand of owner, the process that started it all, if that one is dead.
func EndLeftovers(mark string, ids []Identity, owner Identity) (ended []int, err error) {
	brand, ids := known(ids, owner)
	killed := map[int]uint64{} // start times: a dying process has no environment to be known by
	deadline := time.Now().Add(leftoverTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		c := takeCensus()
		left := c.leftovers(mark, ids, brand)
		for pid, start := range killed {
			if s, ok := c[pid]; ok && s.start == start {
				left[pid] = true
			}
		}
		if len(left) == 0 {
			return ended, nil
		}
		if time.Now().After(deadline) {
			ended = slices.DeleteFunc(ended, func(pid int) bool { return left[pid] })
			return ended, fmt.Errorf("end leftovers: %d processes still run", len(left))
		}
		for pid := range left {
			killed[pid] = c[pid].start
			endVerified(c[pid], c.only(left, c[pid].group))
			if !slices.Contains(ended, pid) {
				ended = append(ended, pid)
			}
		}
		time.Sleep(pause)
	}
}

// Leftovers finds what [EndLeftovers] would end.
func Leftovers(mark string, ids []Identity, owner Identity) []int {
	brand, ids := known(ids, owner)
	return slices.Sorted(maps.Keys(takeCensus().leftovers(mark, ids, brand)))
}

// known is what of a killed Rouse still tells its processes apart.
func known(ids []Identity, owner Identity) (brand uint64, of []Identity) {
	boot := Self().Boot
	if owner.Boot == boot && owner.Start != 0 && !alive(owner) {
		brand = owner.brand()
	}
	return brand, slices.DeleteFunc(slices.Clone(ids), func(i Identity) bool { return i.Boot != boot || i.Start == 0 })
}

// endVerified kills s if its PID still is its own, and its group with it, at
// once, so that the group cannot outrun it by forking. The pidfd holds on to
// the process itself, whoever gets the PID later.
func endVerified(s stat, group bool) {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	now, ok := readStat(s.pid)
	if !ok || now.start != s.start || now.group != s.group {
		return
	}
	if group {
		unix.Kill(-s.group, unix.SIGKILL)
	}
	if err == nil {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		return
	}
	unix.Kill(s.pid, unix.SIGKILL) // before Linux 5.3
}

// census is every living process by PID, at one moment.
type census map[int]stat

func takeCensus() census {
	c := census{}
	for _, pid := range numbers("/proc") {
		if s, ok := readStat(pid); ok && !s.dead() {
			c[pid] = s
		}
	}
	return c
}

func (c census) leftovers(mark string, ids []Identity, brand uint64) map[int]bool {
	spared := c.spared()
	found := map[int]bool{}
	for pid, s := range c {
		if !spared[pid] && (c.leftover(s, mark, ids) || brand != 0 && branded(pid, brand)) {
			found[pid] = true
		}
	}
	for grown := true; grown; { // and what descends from them
		grown = false
		for pid, s := range c {
			if found[s.parent] && !found[pid] && !spared[pid] {
				found[pid], grown = true, true
			}
		}
	}
	return found
}

// spared are this process and those above it.
func (c census) spared() map[int]bool {
	found := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !found[pid]; pid = c[pid].parent {
		found[pid] = true
	}
	return found
}

// only reports whether all processes of a group are among these.
func (c census) only(these map[int]bool, group int) bool {
	for pid, s := range c {
		if s.group == group && !these[pid] {
			return false
		}
	}
	return group > 1
}

func (c census) leftover(s stat, mark string, ids []Identity) bool {
	if mark != "" && carries(marks(s.pid), mark) {
		return true
	}
	return slices.ContainsFunc(ids, func(id Identity) bool { return c.belongs(s, id) })
}

// belongs tells whether s is the process id or in the session that it led. A
// session's id stays taken as long as it has members; where its leader is not
// the one we know, it is another session with the same number.
func (c census) belongs(s stat, id Identity) bool {
	if s.pid == id.PID {
		return s.start == id.Start
	}
	leader, ok := c[id.Session]
	return s.session == id.Session && id.Session == id.PID && s.start >= id.Start && (!ok || leader.start == id.Start)
}
