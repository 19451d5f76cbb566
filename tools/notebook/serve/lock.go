package serve

import (
	"context"
	"errors"
	"fmt"

	"rouse/internal/disk"
)

// Lock takes the folder of all notebooks for this process, until it ends or
// calls what it gets.
func (s *Server) Lock() (unlock func(), err error) {
	s.once.Do(s.begin)
	if err := s.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err = disk.LockFolder(context.Background(), s.Dir, 0)
	if errors.Is(err, disk.ErrHeld) {
		err = fmt.Errorf("%s is in use by another server", s.Dir)
	}
	return unlock, err
}
