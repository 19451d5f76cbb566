package agent

import (
	"fmt"

	"rouse/home"
	"rouse/journal"
)

// seal is what the journals of a home are sealed and proven with.
type seal struct {
	key     []byte // nil in a home of version 1, where no journal has a mac
	raise   bool   // the home is to be brought up to date
	warning string
}

// chained is how many of the newest journals tell whether a home ever had a key.
const chained = 20

// seal reads the journals' key. Where it is gone, what it sealed cannot be proven
// any more, and a new one is made. A home whose journals are sealed is no older
// one, whoever removed its version.
func (a *Agent) seal() (seal, error) {
	version, err := a.Home.Version()
	if err != nil {
		return seal{}, err
	}
	s := seal{raise: version < home.Version}
	if s.key, err = a.Home.Key(); err != nil || s.key != nil && !s.raise {
		return s, err // as it mostly is
	}
	ids, err := a.Home.Cycles(chained)
	if err != nil {
		return s, err
	}
	if s.raise {
		if sealed, err := a.anySealed(ids); err != nil || !sealed {
			return seal{raise: true}, err
		}
		s.warning = a.Home.Rel(a.Home.VersionFile()) + " was gone, though journals have a mac. "
	}
	if s.key == nil {
		s.key, err = a.Home.NewKey(a.disk())
		if len(ids) > 0 {
			s.warning += a.Home.Rel(a.Home.JournalKey()) + " was gone or damaged, and a new one was made: what was written before is not proven"
		}
	}
	return s, err
}

func (a *Agent) anySealed(ids []string) (bool, error) {
	for _, id := range ids {
		first, err := journal.First(a.Home.Journal(id))
		if err != nil {
			return false, fmt.Errorf("journal of %s: %w", id, err)
		}
		if journal.Sealed(first.Line) {
			return true, nil
		}
	}
	return false, nil
}
