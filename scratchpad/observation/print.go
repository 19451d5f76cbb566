package observation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"rouse/internal/redact"
)

// Printer writes a content, or parts of any size of it, without secrets.
type Printer struct {
	Content *Content
	Hide    *redact.Redactor
	Out     io.Writer
}

// Whole writes all of it.
func (p Printer) Whole() error {
	return p.through(func(w io.Writer) error {
		_, err := p.Content.WriteTo(w)
		return err
	})
}

// through writes by way of the redactor.
func (p Printer) through(write func(io.Writer) error) (err error) {
	out := p.Hide.Writer(p.Out)
	defer func() { err = cmp.Or(err, out.Close()) }()
	return write(out)
}

// maxResults bounds what a JSON query gives, in bytes.
const maxResults = 256 << 20

// JSON writes the results of a query.
func (p Printer) JSON(ctx context.Context, query string) error {
	return p.through(func(w io.Writer) error {
		found, err := p.Content.JSON(ctx, query, maxResults)
		if err == nil {
			_, err = w.Write(found.Data)
		}
		if err == nil && found.Cut {
			err = fmt.Errorf("the results are cut off at %d MiB; narrow the query", maxResults>>20)
		}
		return err
	})
}

// part writes a part without the secrets that reach into it.
func (p Printer) part(part Part) error {
	data, err := p.Content.Hidden(part, p.Hide)
	if err == nil {
		_, err = p.Out.Write(data)
	}
	return err
}

// Range writes a part, also of lines that are longer than a piece.
func (p Printer) Range(unit Unit, start, end int64) error {
	for start < end {
		part, err := p.Content.Slice(unit, start, end, 1<<20)
		if err != nil || part.End <= start {
			return err
		}
		if err := p.part(part); err != nil {
			return err
		}
		if part.Cut {
			if part.End, err = p.restOfLine(part); err != nil {
				return err
			}
		}
		start = part.End
	}
	return nil
}

// restOfLine writes what follows the beginning of a long line, and gives the
// number of the next line.
func (p Printer) restOfLine(line Part) (int64, error) {
	at := line.Char + int64(utf8.RuneCount(line.Data))
	for {
		part, err := p.Content.Slice(Chars, at, at+1<<20, 1<<20)
		if err != nil {
			return 0, err
		}
		i := bytes.IndexByte(part.Data, '\n')
		if i >= 0 {
			part.Data = part.Data[:i+1]
		}
		if err := p.part(part); err != nil {
			return 0, err
		}
		if i >= 0 || part.End >= part.Total {
			return line.Start + 1, nil
		}
		at = part.End
	}
}

// longestLine is the longest line that grep prints whole, in characters.
const longestLine = 1 << 20

// Grep writes all lines that match, as grep -n does, and says whether there are any;
// of a line that is very long, it writes the part about the match.
func (p Printer) Grep(ctx context.Context, q Query) (any bool, err error) {
	q.MaxMatches, q.MaxBytes, q.LineChars, q.Partial = 100_000, 8<<20, longestLine, true
	err = p.through(func(w io.Writer) error {
		for {
			found, err := p.Content.Grep(ctx, q)
			if err == nil && p.Content.Kind != Binary { // of which lines are whole, or about a match
				err = p.Content.HideLines(found.Lines, p.Hide)
			}
			if err == nil {
				any = any || found.Matches > 0
				_, err = w.Write(GrepText(found.Lines))
			}
			if q.From = found.Next; err != nil || q.From == 0 {
				return err
			}
		}
	})
	return any, err
}

// GrepText writes lines as grep -n does: a colon behind the number of a match, a
// dash behind that of a line beside one.
func GrepText(lines []Line) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		mark := "-"
		if l.Match {
			mark = ":"
		}
		fmt.Fprintf(&b, "%d%s%s", l.Number, mark, l.Text)
		if l.Cut {
			fmt.Fprintf(&b, " [… a part of the line, from character %d]", l.Char)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
