package retention

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"time"

	kept "rouse/agent/made"
	"rouse/home"
)

// copies removes copies of what cycles were made of that no journal names any
// more. The newest journals are read first, as they name most.
func (s Store) copies(ctx context.Context, at time.Time, r *Removed) error {
	all := kept.Copies{Dir: s.Home.Made(), Disk: s.Disk}
	left, err := all.Old(at.Add(-s.Policy.Keep))
	if err != nil || len(left) == 0 {
		return err
	}
	cycles, err := s.cycles()
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(cycles) {
		if !c.has(home.JournalFile) || len(left) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if left, err = unnamed(s.Home.Journal(c.id), left); err != nil {
			return err
		}
	}
	bytes, err := all.Remove(left...)
	if err == nil {
		r.Files, r.Bytes = r.Files+len(left), r.Bytes+bytes
	}
	return err
}

// unnamed are the copies that a journal does not name. That a line is damaged does
// not keep a name in it from being found.
func unnamed(journal string, copies []string) ([]string, error) {
	f, err := os.Open(journal)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	copies = slices.Clone(copies)
	for b := bufio.NewReader(f); ; {
		line, err := b.ReadBytes('\n')
		copies = slices.DeleteFunc(copies, func(name string) bool { return bytes.Contains(line, []byte(name)) })
		if err == io.EOF || len(copies) == 0 {
			return copies, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
