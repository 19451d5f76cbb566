package notebook

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rouse/internal/jsonl"
)

// Summary is a notebook in a list.
type Summary struct {
	Name  string    `json:"name"`
	Cells int       `json:"cells"`
	Last  time.Time `json:"last,omitzero"` // when the last cell ran
}

// List lists the notebooks of the home. One that cannot be read is there too, beside
// the error.
func (m *Manager) List() (list []Summary, err error) {
	names, err := m.Names()
	for _, name := range names {
		s := Summary{Name: name}
		for c, failed := range jsonl.Read[struct{ Time time.Time }](filepath.Join(m.Dir, name, cellsName)) {
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("notebook %s: read cells: %w", name, failed))
				break
			}
			s.Cells, s.Last = s.Cells+1, c.Time
		}
		list = append(list, s)
	}
	return list, err
}

// Shown is a cell as a page shows it: what came of it in parts by name, which are cut,
// and what else it has, which is asked for by itself.
type Shown struct {
	Cell     // without what came of it
	Parts    [][2]string
	Pictures []string // their types
	Table    bool
	Why      string // it failed, in a line
}

// Recent gives the last cells before one with a number, or of all for 0, at most so
// many, and says whether there are older ones. One cell is whole in memory at a time.
func (s Store) Recent(before, most int, fit func(string) string) (list []Shown, older bool, err error) {
	err = s.Each(func(c Cell) error {
		if before > 0 && c.Number >= before {
			return nil
		}
		if len(list) == most {
			list, older = append(list[:0], list[1:]...), true
		}
		list = append(list, c.shown(fit))
		return nil
	})
	return list, older, err
}

func (c Cell) shown(fit func(string) string) Shown {
	s := Shown{Table: c.Table() != "", Why: c.Failure()}
	for _, p := range c.Pictures {
		s.Pictures = append(s.Pictures, p.Type)
	}
	c.Pictures = nil
	s.Parts = c.parts(fit)
	s.Cell = Cell{ID: c.ID, Number: c.Number, Time: c.Time, Description: fit(c.Description), Code: fit(c.Code), Ended: c.Ended, Duration: c.Duration}
	return s
}

// Table is the cell's value as HTML, or what it printed if that has a table.
func (c Cell) Table() string {
	if c.HTML == "" && strings.Contains(c.Stdout, "<table") {
		return c.Stdout
	}
	return c.HTML
}

// errFound ends a search.
var errFound = errors.New("found")

// Find gives the cell with a number.
func (s Store) Find(number int) (found Cell, err error) {
	err = s.Each(func(c Cell) error {
		if c.Number != number {
			return nil
		}
		found = c
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err == nil:
		err = fmt.Errorf("there is no cell %d", number)
	}
	return found, err
}
