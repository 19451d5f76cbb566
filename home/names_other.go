//go:build !linux

package home

import (
	"io"
	"os"
)

// eachName gives the names in a folder, in no order.
func eachName(dir *os.File, visit func(name []byte)) error {
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			visit([]byte(name))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
