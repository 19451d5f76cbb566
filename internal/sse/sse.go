// Package sse reads streams of server-sent events, of bounded size each:
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// Event is one event, as it came.
type Event struct {
	Raw   []byte // all of it, with the empty line at its end
	Name  string
	ID    string
	Data  []byte
	Retry time.Duration
}

// ErrTooLarge says that a message is larger than allowed.
var ErrTooLarge = errors.New("a message is too long")

// Reader reads the events of a stream.
type Reader struct {
	r   *bufio.Reader
	max int64
}

// NewReader reads the stream r, of which no event may have more than max bytes.
func NewReader(r io.Reader, max int64) *Reader { return &Reader{bufio.NewReaderSize(r, 16<<10), max} }

// Next gives the next event; at the end of the stream one that is not whole is
// dropped.
func (r *Reader) Next() (Event, error) {
	var raw []byte
	for start := 0; ; {
		part, err := r.r.ReadSlice('\n')
		raw = append(raw, part...)
		switch {
		case int64(len(raw)) > r.max:
			return Event{}, ErrTooLarge
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return Event{}, err
		case len(bytes.TrimRight(raw[start:], "\r\n")) == 0:
			return parse(raw), nil
		}
		start = len(raw)
	}
}

func parse(raw []byte) Event {
	e := Event{Raw: raw}
	for line := range bytes.Lines(raw) {
		switch name, value := Field(line); name {
		case "event":
			e.Name = string(value)
		case "id":
			e.ID = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				e.Retry = time.Duration(ms) * time.Millisecond
			}
		case "data":
			if e.Data != nil {
				value = append(append(e.Data[:len(e.Data):len(e.Data)], '\n'), value...)
			}
			e.Data = value
		}
	}
	return e
}

// Field is the name and the value of a line.
func Field(line []byte) (name string, value []byte) {
	field, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
	return string(field), bytes.TrimPrefix(value, []byte(" "))
}
