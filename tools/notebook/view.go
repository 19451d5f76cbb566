package notebook

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"rouse/internal/text"
	"rouse/tools"
)

const (
	viewLines = 20
	viewChars = 2000
)

// View writes the cells for reading: of each one code and outputs, the latter
// cut to 20 lines and 2,000 characters, and of those before the last recent
// ones only a line each.
func (s Store) View(w io.Writer, recent int) error {
	return s.read(w, recent, func(out *bufio.Writer, c Cell) { c.view(out) })
}

// Dump writes the cells as a Markdown document, cut and folded as by View: code
// and what came of it, without what happened around it.
func (s Store) Dump(w io.Writer, recent int) error {
	return s.read(w, recent, func(out *bufio.Writer, c Cell) { c.dump(out, shorten) })
}

// DumpAll writes all cells as Dump does, none folded and nothing cut.
func (s Store) DumpAll(w io.Writer) error {
	whole := func(text string) string { return text }
	return s.read(w, math.MaxInt, func(out *bufio.Writer, c Cell) { c.dump(out, whole) })
}

func (s Store) read(w io.Writer, recent int, show func(*bufio.Writer, Cell)) error {
	out := bufio.NewWriter(w)
	count, number := 0, 0
	err := s.Each(func(Cell) error { count++; return nil })
	if err != nil {
		return err
	}
	err = s.Each(func(c Cell) error {
		if number++; number > count-recent {
			if number > 1 {
				out.WriteByte('\n')
			}
			show(out, c)
			return nil
		}
		_, err := fmt.Fprintln(out, "- "+c.line())
		return err
	})
	if err != nil {
		return err
	}
	if count == 0 {
		fmt.Fprintln(out, "(no cells)")
	}
	return out.Flush()
}

// line is a cell in one line.
func (c Cell) line() string {
	what := c.Description
	if what == "" {
		what, _, _ = strings.Cut(strings.TrimSpace(c.Code), "\n")
	}
	line := fmt.Sprintf("[%d] %s", c.Number, text.Brief(what, 120))
	if c.Ended != OK {
		line += " → " + text.Brief(c.Failure(), 120)
	}
	return line
}

func (c Cell) view(w *bufio.Writer) {
	fmt.Fprintf(w, "=== [%d] %s", c.Number, c.Time.Format(time.DateTime))
	fmt.Fprintf(w, ", %s in %s", c.Ended, (time.Duration(c.Duration) * time.Millisecond).String())
	if c.Description != "" {
		fmt.Fprintf(w, ": %s", text.Words(c.Description))
	}
	fmt.Fprintf(w, "\n%s\n", strings.TrimRight(c.Code, "\n"))
	for _, part := range c.parts(shorten) {
		fmt.Fprintf(w, "--- %s\n%s\n", part[0], part[1])
	}
}

func (c Cell) dump(w *bufio.Writer, fit func(string) string) {
	if c.Description != "" {
		fmt.Fprintf(w, "## %s\n\n", text.Words(c.Description))
	}
	fence(w, "python", strings.Trim(c.Code, "\n"))
	for _, part := range c.parts(fit) {
		if part[0] == "notes" || part[0] == "logs" {
			continue
		}
		name := ""
		if part[0] != "stdout" && part[0] != "value" {
			name = part[0]
		}
		w.WriteByte('\n')
		fence(w, name, part[1])
	}
}

// parts are what came of a cell, each with its name, made to fit.
func (c Cell) parts(fit func(string) string) [][2]string {
	var list [][2]string
	add := func(name, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			list = append(list, [2]string{name, fit(text)})
		}
	}
	add("notes", strings.Join(c.Notes, "\n"))
	add("logs", strings.Join(c.Logs, "\n"))
	add("stdout", c.Stdout)
	add("stderr", c.Stderr)
	add("pictures", text.Join(c.Pictures, "\n", func(p tools.Media) string { return fmt.Sprintf("[%s, %d bytes]", p.Type, len(p.Data)) }))
	add("value", c.Value)
	add("error", c.Error)
	return list
}

// fence writes a code block that the text cannot end.
func fence(w *bufio.Writer, language, text string) {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	fmt.Fprintf(w, "%s%s\n%s\n%s\n", marks, language, text, marks)
}

// shorten keeps the first and the last lines of a text that is too long.
func shorten(output string) string {
	lines := strings.Split(output, "\n")
	if len(lines) > viewLines {
		half := viewLines / 2
		left := fmt.Sprintf("… %d lines left out", len(lines)-viewLines)
		lines = append(append(lines[:half:half], left), lines[len(lines)-half:]...)
	}
	return text.Middle(strings.Join(lines, "\n"), viewChars)
}
