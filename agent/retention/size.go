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

// Size measures what cycles have left.
func (s Store) Size() (Size, error) {
	cycles, err := s.cycles()
	if err != nil {
		return Size{}, fmt.Errorf("size: %w", err)
	}
	size := Size{Cycles: len(cycles)}
	for _, c := range cycles {
		for _, path := range s.files(c) {
			info, err := os.Lstat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return size, fmt.Errorf("size: %w", err)
			case filepath.Dir(path) == filepath.Clean(s.Logs):
				size.Logs += info.Size()
			default:
				size.Snapshots += info.Size()
			}
		}
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
