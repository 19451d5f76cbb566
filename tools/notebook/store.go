package notebook

import (
	"fmt"
	"io"
	"path/filepath"

	"rouse/internal/disk"
	"rouse/internal/jsonl"
)

const (
	cellsName = "cells.jsonl"
	ipynbName = "notebook.ipynb"
)

// Store is the folder of one notebook, where its cells are kept: one line of
// JSON each in cells.jsonl, and all of them in notebook.ipynb, which Jupyter
// reads, as of the last close.
type Store struct {
	Dir string
	FS  disk.FS
}

// Append adds a cell. A line that a dead process left unfinished stays on its
// own.
func (s Store) Append(c Cell) error {
	line, err := jsonl.Marshal(c)
	if err == nil {
		err = s.FS.MkdirAll(s.Dir, 0o700)
	}
	if err == nil {
		err = jsonl.Append(s.FS, filepath.Join(s.Dir, cellsName), line, false)
	}
	if err != nil {
		return fmt.Errorf("keep cell: %w", err)
	}
	return nil
}

// Each calls f with each cell, in order, until f gives an error. Only one cell
// is in memory at a time. A line that is no cell is passed over.
func (s Store) Each(f func(Cell) error) error {
	for c, err := range jsonl.Read[Cell](filepath.Join(s.Dir, cellsName)) {
		if err != nil {
			return fmt.Errorf("read cells: %w", err)
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// Last is the number of the last cell; 0 if there is none.
func (s Store) Last() (int, error) {
	last := 0
	err := s.Each(func(c Cell) error {
		last = max(last, c.Number)
		return nil
	})
	return last, err
}

// WriteIpynb writes all cells into notebook.ipynb.
func (s Store) WriteIpynb() error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.Ipynb(w)) }()
	defer r.Close()
	if _, err := disk.ReplaceFrom(s.FS, filepath.Join(s.Dir, ipynbName), r, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", ipynbName, err)
	}
	return nil
}
