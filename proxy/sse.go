package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// event is one of a stream of server-sent events, as it came: see
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
type event struct {
	raw   []byte // all of it, with the empty line at its end
	other []byte // the lines that are not data
	data  []byte
	id    string
	retry time.Duration
}

// with is the event as it was, with other data.
func (e event) with(data []byte) []byte {
	if bytes.Equal(data, e.data) {
		return e.raw
	}
	return append(append([]byte(nil), e.other...), dataEvent(data)...)
}

// dataEvent is an event that has data only.
func dataEvent(data []byte) []byte {
	return append(append([]byte("data: "), line(bytes.Clone(data))...), '\n')
}

// events reads a stream of them, none larger than max.
type events struct {
	r   *bufio.Reader
	max int64
}

var errLongEvent = errors.New("its message is too long")

// next gives the next event; at the end of the stream one that is not whole is
// dropped.
func (s *events) next() (event, error) {
	var e event
	data := false
	for {
		l, err := s.line(int64(len(e.raw)))
		if err != nil {
			return event{}, err
		}
		e.raw = append(e.raw, l...)
		text := bytes.TrimRight(l, "\r\n")
		if len(text) == 0 {
			return e, nil
		}
		field, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		if string(field) != "data" {
			e.other = append(e.other, l...)
			e.field(string(field), string(value))
			continue
		}
		if data {
			e.data = append(e.data, '\n')
		}
		e.data, data = append(e.data, value...), true
	}
}

func (e *event) field(name, value string) {
	switch name {
	case "id":
		e.id = value
	case "retry":
		if ms, err := strconv.Atoi(value); err == nil {
			e.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// line reads one line with its end.
func (s *events) line(had int64) ([]byte, error) {
	var l []byte
	for {
		part, err := s.r.ReadSlice('\n')
		l = append(l, part...)
		if had+int64(len(l)) > s.max {
			return nil, errLongEvent
		}
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (p *Proxy) events(r io.Reader) *events {
	return &events{r: bufio.NewReaderSize(r, 16<<10), max: p.maxMessage()}
}
