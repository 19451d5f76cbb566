package serve

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes the folder of all notebooks for this process, until it ends or
// calls what it gets.
func (s *Server) Lock() (unlock func(), err error) {
	s.once.Do(s.begin)
	if err := s.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.Open(s.Dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s is in use by another server", s.Dir)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return func() { dir.Close() }, nil
}
