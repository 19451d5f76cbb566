package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Event is one of a stream.
type Event struct {
	Name string
	// Next is where the stream goes on after it.
	Next int64
	Data []byte
}

// Encode makes the text of an event that begins at offset at of its stream.
func Encode(at int64, name string, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// The id has a fixed length, so that the event's is known before it is.
	const form = "event: %s\nid: %016d\ndata: %s\n\n"
	size := len(form) - len("%s%016d%s") + len(name) + 16 + len(data)
	return fmt.Appendf(make([]byte, 0, size), form, name, at+int64(size), data), nil
}

// Reader reads the events of a stream.
type Reader struct {
	r *bufio.Reader
}

// NewReader reads the stream r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Next is the next event that is whole; what is unknown is passed over.
func (r *Reader) Next() (Event, error) {
	var e Event
	for {
		line, err := r.line()
		if err != nil {
			return e, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			e.Data = append(e.Data, value...)
		case "id":
			if e.Next, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return e, errors.New("an event with a bad id")
			}
		}
		if len(line) == 0 && e.Name != "" {
			return e, nil
		}
		if len(line) == 0 {
			e = Event{}
		}
	}
}

// ErrTooLarge says that an event is larger than MaxEvent.
var ErrTooLarge = errors.New("an event is too large")

func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		if len(line)+len(part) > MaxEvent {
			return nil, ErrTooLarge
		}
		line = append(line, part...)
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}
