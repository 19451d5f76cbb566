package agent

import (
	"fmt"

	"rouse/home"
	"rouse/journal"
)

// seal is what the journals of a home are sealed and proven with.
type seal struct {
	key     []byte // nil in a home of version 1, where no journal has a mac
	fresh   bool   // the key is not in the home yet
	raise   bool   // the home is to be brought up to date
	warning string
}

// chained is how many of the newest journals tell whether a home ever had a key.
const chained = 20

// seal reads the journals' key. Where it is gone, what it sealed cannot be proven
// any more, and there is a new one, which [Keeper.keepKey] puts there. A home whose journals are sealed is no older
// one, whoever removed its version.
func (k *Keeper) seal() (seal, error) {
	version, err := k.Home.WakingVersion()
	if err != nil {
		return seal{}, err
	}
	s := seal{raise: version < home.Version}
	if s.key, err = k.Home.Key(); err != nil || s.key != nil && !s.raise {
		return s, err // as it mostly is
	}
	ids, err := k.Home.Cycles(chained)
	if err != nil {
		return s, err
	}
	if s.raise {
		if sealed, err := k.anySealed(ids); err != nil || !sealed {
			return seal{raise: true}, err
		}
		s.warning = k.Home.Rel(k.Home.VersionFile()) + " was gone, though journals have a mac. "
	}
	if s.key == nil {
		s.key, s.fresh = home.NewKey(), true
		if len(ids) > 0 {
			s.warning += k.Home.Rel(k.Home.JournalKey()) + " was gone or damaged, and a new one was made: what was written before is not proven"
		}
	}
	return s, nil
}

// keepKey puts a new key into the home, once it is certain that something will be
// sealed with it: a memory that cannot be read leaves the home as it is.
func (k *Keeper) keepKey(s *seal) error {
	if !s.fresh {
		return nil
	}
	s.fresh = false
	return k.Home.PutKey(k.disk(), s.key)
}

func (k *Keeper) anySealed(ids []string) (bool, error) {
	for _, id := range ids {
		first, err := journal.First(k.Home.Journal(id))
		if err != nil {
			return false, fmt.Errorf("journal of %s: %w", id, err)
		}
		if journal.Sealed(first.Line) {
			return true, nil
		}
	}
	return false, nil
}
