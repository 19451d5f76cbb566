package observation

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"rouse/internal/text"
)

// table counts the rows of a CSV or TSV file.
type table struct {
	delimiter rune
	columns   []string
	newlines  int64 // outside quotes
	inQuotes  bool
	last      byte
}

// sniffTable finds a table by its first lines: a row of distinct names, and lines
// with as many fields. It gives nil if there is none.
func sniffTable(block []byte) *table {
	sample := block[:min(len(block), chunkSize)]
	if len(sample) == chunkSize {
		sample = sample[:bytes.LastIndexByte(sample, '\n')+1]
	}
	sample = bytes.TrimPrefix(sample, []byte("\ufeff"))
	for _, c := range "\t,;" {
		if t := tableOf(sample, c); t != nil {
			return t
		}
	}
	return nil
}

// tableOf takes text for a table if nine in ten rows have as many fields as the
// first, which is names.
func tableOf(text []byte, delimiter rune) *table {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = delimiter, true, -1
	names, err := r.Read()
	if err != nil || !isHeader(names) {
		return nil
	}
	rows, good := 0, 0
	for ; rows < 100; rows++ {
		row, err := r.Read()
		if err != nil {
			break
		}
		if len(row) == len(names) {
			good++
		}
	}
	if rows == 0 || good*10 < rows*9 {
		return nil
	}
	return &table{delimiter: delimiter, columns: names}
}

// isHeader says whether fields look like the names of columns.
func isHeader(names []string) bool {
	if len(names) < 2 {
		return false
	}
	for i, name := range names {
		if name == "" || len(name) > 64 || !isLetter(name[0]) && name[0] != '_' && name[0] < 0x80 || slices.Contains(names[:i], name) {
			return false
		}
	}
	return true
}

func (t *table) add(p []byte) {
	t.last = p[len(p)-1]
	for len(p) > 0 {
		i := bytes.IndexByte(p, '"')
		part := p
		if i >= 0 {
			part, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		if !t.inQuotes {
			t.newlines += int64(bytes.Count(part, []byte{'\n'}))
		}
		if i >= 0 {
			t.inQuotes = !t.inQuotes
		}
	}
}

// String says rows and columns; where quotes do not pair, a row is a line.
func (t *table) String(lines int64) string {
	rows := t.newlines
	if t.last == '\n' {
		rows--
	}
	if t.inQuotes {
		rows = lines - 1
	}
	names := strings.Join(t.columns, ", ")
	return fmt.Sprintf("%s, %s: %s", text.Count(rows, "row"), text.Count(int64(len(t.columns)), "column"), text.Cut(names, 600))
}
