package notebook

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rouse/internal/disk"
)

const (
	cellsName = "cells.jsonl"
	ipynbName = "notebook.ipynb"
	// maxCell is the longest line of a cell that is read: its pictures and
	// outputs, escaped.
	maxCell = 512 << 20
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
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("keep cell: %w", err)
	}
	if err := s.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("keep cell: %w", err)
	}
	b = append(b, '\n')
	if s.torn() {
		b = append([]byte{'\n'}, b...)
	}
	f, err := s.FS.OpenFile(filepath.Join(s.Dir, cellsName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep cell: %w", err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep cell: %w", err)
	}
	return nil
}

// torn reports whether the file ends in the middle of a line.
func (s Store) torn() bool {
	f, err := os.Open(filepath.Join(s.Dir, cellsName))
	if err != nil {
		return false
	}
	defer f.Close()
	end, err := f.Seek(-1, io.SeekEnd)
	b := []byte{0}
	if err != nil || end < 0 {
		return false
	}
	_, err = f.Read(b)
	return err == nil && b[0] != '\n'
}

// Each calls f with each cell, in order, until f gives an error. Only one cell
// is in memory at a time. A line that is no cell is passed over.
func (s Store) Each(f func(Cell) error) error {
	file, err := os.Open(filepath.Join(s.Dir, cellsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read cells: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxCell)
	for lines.Scan() {
		var c Cell
		if len(lines.Bytes()) == 0 || json.Unmarshal(lines.Bytes(), &c) != nil {
			continue
		}
		if err := f(c); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read cells: %w", err)
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
