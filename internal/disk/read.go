package disk

import (
	"errors"
	"fmt"
	"os"
)

// ReadSmall reads a regular file of at most limit bytes. What is another kind of file,
// such as a FIFO, is an error and not waited for.
func ReadSmall(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("%d bytes, the limit is %d", info.Size(), limit)
	}
	return os.ReadFile(path)
}
