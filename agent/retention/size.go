package retention

import (
	"encoding/json"
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

// many is from how many cycles on they are not counted anew each time.
const many = 2000

// Size is what cycles have left: measured, or of many as it was found when the
// policy was applied last.
func (s Store) Size() (Size, error) {
	var last Size
	if text, err := os.ReadFile(s.marker()); err == nil && json.Unmarshal(text, &last) == nil && last.Cycles >= many {
		return last, nil
	}
	return s.measure()
}

// measure looks at the files. Of many cycles some are measured, evenly spread, and
// the rest is taken to be like them.
func (s Store) measure() (Size, error) {
	cycles, err := s.cycles()
	if err != nil {
		return Size{}, fmt.Errorf("size: %w", err)
	}
	size := Size{Cycles: len(cycles)}
	measured := int64(0)
	for i := 0; i < len(cycles); i += 1 + len(cycles)/sampled {
		if err := s.add(cycles[i], &size); err != nil {
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

// add adds the files of a cycle.
func (s Store) add(c *cycle, size *Size) error {
	for _, path := range s.files(c) {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case filepath.Dir(path) == s.Home.Logs():
			size.Logs += info.Size()
		default:
			size.Snapshots += info.Size()
		}
	}
	return nil
}
