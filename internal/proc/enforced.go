package proc

// Guard is one thing that this package promises of children, and whether this
// system lets it keep the promise.
type Guard struct {
	Name     string // what is promised, in a few words
	Enforced bool
	Detail   string // what is missing and what follows; empty if Enforced
}
