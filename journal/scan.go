package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
)

// maxScanned is how much of a line [Scan] gives, in bytes.
const maxScanned = 256 << 10

// Mark is where a line of a journal is, and what it is about. Of the line itself at most
// the first 256 KiB are there, and only until the next.
type Mark struct {
	Number   int   // in the file, from 1
	At, Size int64 // in bytes
	Event    string
	Step     int // of the call that it is about, 0 for none
	Line     []byte
}

// Scan finds the lines of a journal of any size, in little memory: it does not parse them,
// and whether they are whole is for who does. It passes over those that are no event.
func Scan(r io.Reader) iter.Seq2[Mark, error] {
	return func(yield func(Mark, error) bool) {
		b := bufio.NewReaderSize(r, maxScanned)
		var m Mark
		for {
			line, err := b.ReadSlice('\n')
			m = Mark{Number: m.Number + 1, At: m.At + m.Size, Size: int64(len(line))}
			m.Line = line
			if err == bufio.ErrBufferFull {
				m.Line = bytes.Clone(line)
			}
			for err == bufio.ErrBufferFull {
				line, err = b.ReadSlice('\n')
				m.Size += int64(len(line))
			}
			torn := err == io.EOF && !json.Valid(m.Line) // being written, or never finished
			if m.Event, m.Step = head(m.Line); m.Event != "" && !torn && !yield(m, nil) || err == io.EOF {
				return
			}
			if err != nil {
				yield(Mark{}, fmt.Errorf("read journal: %w", err))
				return
			}
		}
	}
}

// head says what a line is about. In lines of ours the event is followed by the step, if
// they have one; others are parsed.
func head(line []byte) (event string, step int) {
	_, rest, ok := bytes.Cut(line, []byte(`"event":"`))
	name, rest, whole := bytes.Cut(rest, []byte(`"`))
	if ok && whole && string(name) != "approval" {
		digits, ok := bytes.CutPrefix(rest, []byte(`,"step":`))
		if end := bytes.IndexAny(digits, ",}"); ok && end > 0 {
			step, _ = strconv.Atoi(string(digits[:end]))
		}
		return string(name), step
	}
	var h struct {
		Event string `json:"event"`
		Step  int    `json:"step"`
	}
	if json.Unmarshal(line, &h) != nil {
		return "", 0
	}
	return h.Event, h.Step
}

// Usage counts the tokens of one reply.
type Usage struct {
	Input     int `json:"input"`
	Cached    int `json:"cached,omitempty"`  // of Input
	Written   int `json:"written,omitempty"` // of Input, into a cache
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitempty"` // of Output
}

// Spent is the usage of a reply and the model that gave it, from the end of its line: ok
// says whether that is there.
func (m Mark) Spent() (model string, used Usage, ok bool) {
	i := bytes.LastIndex(m.Line, []byte(`"usage":{`))
	if i < 0 || int64(len(m.Line)) < m.Size {
		return "", used, false
	}
	var d Reply
	err := json.Unmarshal(append([]byte{'{'}, m.Line[i:]...), &d)
	return d.Model, d.Usage, err == nil
}
