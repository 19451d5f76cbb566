package sandbox

import "slices"

// Promise is what a sandbox promises, by the name under which the operator sees it.
type Promise string

// The promises, in the order in which they are shown.
const (
	OwnFiles   Promise = "own files"  // the agent's own files are not written, and the hidden ones not read
	Writes     Promise = "writes"     // nothing is written but what the policy names
	Reads      Promise = "reads"      // nothing is read but what the policy names
	Attributes Promise = "attributes" // modes, owners and times of files outside stay as they are
	NoNetwork  Promise = "network"    // no network
	Hosts      Promise = "hosts"      // the listed hosts and no others
	Services   Promise = "services"   // no socket of a service, a container engine or a desktop
	Processes  Promise = "processes"  // other processes are neither signalled nor looked into
	Tree       Promise = "leftovers"  // no process outlives Rouse, whatever kills it
	Privileges Promise = "privileges" // none is gained by setuid programs
	Memory     Promise = "memory"     // bounded
	Count      Promise = "count"      // the number of processes is bounded
)

func promises() []Promise {
	return []Promise{OwnFiles, Writes, Reads, Attributes, NoNetwork, Hosts, Services, Processes, Tree, Privileges, Memory, Count}
}

// Hold is a promise, and what keeps it on this machine.
type Hold struct {
	Promise Promise
	// By is what keeps it, such as "bubblewrap" or "seccomp"; "" is nothing.
	By string
	// Lacks says what is not kept, or not wholly, and what would bring it.
	Lacks string
}

// keeper is a way in which a back-end keeps a promise. Of several for one promise the
// first counts whose condition holds.
type keeper struct {
	Hold
	when func(*Box) bool // nil: always
}

// Holds says of each promise that the policy asks for what keeps it here.
func (b *Box) Holds() []Hold {
	var holds []Hold
	for _, p := range promises() {
		if b.policy.asks(p) {
			holds = append(holds, b.keeps(p))
		}
	}
	return holds
}

// keeps looks for what keeps a promise.
func (b *Box) keeps(p Promise) Hold {
	for _, k := range b.keepers() {
		if k.Promise == p && (k.when == nil || k.when(b)) {
			return k.Hold
		}
	}
	return Hold{Promise: p, Lacks: "not kept here"}
}

// keepers is the column of the table that this machine and policy use.
func (b *Box) keepers() []keeper {
	switch {
	case b.system.wraps():
		return slices.Concat(groupKeeps(), bubblewrapKeeps(), bothKeep())
	case b.system.landlocks():
		return slices.Concat(groupKeeps(), landlockKeeps(), bothKeep())
	}
	return nothingKeeps()
}

// asks says whether a policy asks for what a promise is about.
func (p Policy) asks(what Promise) bool {
	switch what {
	case NoNetwork:
		return p.Network == None
	case Hosts:
		return p.Network == Listed
	case Memory:
		return p.Limits.Memory > 0
	case Count:
		return p.Limits.Processes > 0
	}
	return true
}

// groupKeeps is what a cgroup keeps beside either back-end.
func groupKeeps() []keeper {
	return []keeper{
		{Hold{Memory, "cgroup", ""}, (*Box).grouped},
		{Hold{Count, "cgroup", ""}, (*Box).grouped},
	}
}

// bothKeep is what either back-end keeps in the same way.
func bothKeep() []keeper {
	return []keeper{
		{Hold{Memory, "rlimit", "of each process, not of all together: a cgroup would (rouse install --via systemd)"}, nil},
		{Hold{Count, "", "the number of processes is not bounded: bubblewrap bounds that of an ordinary user, not of root, and a cgroup any (rouse install --via systemd)"}, nil},
	}
}

// nothingKeeps is what is said where no sandbox can be had.
func nothingKeeps() []keeper {
	var list []keeper
	for _, p := range promises() {
		list = append(list, keeper{Hold{p, "", ErrNone.Error()}, nil})
	}
	return list
}
