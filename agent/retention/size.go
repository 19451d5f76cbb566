package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Size is how much the cycles' files take, in bytes.
type Size struct {
	Cycles    int   `json:"cycles"`
	Logs      int64 `json:"logs"` // journals and logs, due.log and those of proxies too
	Snapshots int64 `json:"snapshots"`
}

// sampled is about how many cycles are measured, so that many cost no more time.
const sampled = 200

// Size measures what cycles have left. Of many cycles some are measured, evenly
// spread, and the rest is taken to be like them.
func (s Store) Size() (Size, error) {
	cycles, err := s.cycles()
	if err != nil {
		return Size{}, fmt.Errorf("size: %w", err)
	}
	size := Size{Cycles: len(cycles)}
	measured := int64(0)
	for i := 0; i < len(cycles); i += 1 + len(cycles)/sampled {
		if err := s.measure(cycles[i], &size); err != nil {
			return size, fmt.Errorf("size: %w", err)
		}
		measured++
	}
	if measured > 0 {
		size.Logs = size.Logs * int64(len(cycles)) / measured
		size.Snapshots = size.Snapshots * int64(len(cycles)) / measured
	}
	grown, err := s.grown()
	if err != nil {
		return size, fmt.Errorf("size: %w", err)
	}
	for _, path := range grown {
		if info, err := os.Lstat(path); err == nil {
			size.Logs += info.Size()
		}
	}
	return size, nil
}

// measure adds the files of a cycle.
func (s Store) measure(c *cycle, size *Size) error {
	for _, path := range s.files(c) {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case filepath.Dir(path) == filepath.Clean(s.Logs):
			size.Logs += info.Size()
		default:
			size.Snapshots += info.Size()
		}
	}
	return nil
}
