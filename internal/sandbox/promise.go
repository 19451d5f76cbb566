package sandbox

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

// Hold is a promise, and what keeps it on this machine.
type Hold struct {
	Promise Promise
	// By is what keeps it, such as "bubblewrap" or "seccomp"; "" is nothing.
	By string
	// Lacks says what is not kept, or not wholly, and what would bring it.
	Lacks string
}
