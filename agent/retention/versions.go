package retention

import "rouse/agent/history"

// versions removes the versions of the workspace from before the oldest cycle that has
// files left.
func (s Store) versions() error {
	cycles, err := s.cycles()
	if err != nil || len(cycles) == 0 {
		return err
	}
	return history.Store{Dir: s.Home.History(), Disk: s.Disk}.Drop(cycles[0].id)
}
