// Package frame cuts a stream into lines of bounded length, and a line into the
// messages that are in it.
package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Lines takes a stream and holds no more than one line of it. A last line
// without its end is none.
type Lines struct {
	// Max is the longest line, in bytes.
	Max int64
	// Line is given each line, without its end. It must not keep what it gets.
	Line func([]byte)
	// Lost, unless nil, is told of a line that is longer, which is left out.
	Lost func(error)
	// Patience is how many times Max such a line may have until Write fails; 0 is
	// any number.
	Patience int64

	buf     []byte
	skipped int64 // bytes of a line that is too long; 0 if it is not
}

var errNoLine = errors.New("it writes without end and without a line break")

// Write fails only where a line is too long for all patience.
func (l *Lines) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte{'\n'})
		b = rest
		if err := l.add(part); err != nil {
			return 0, err
		}
		if whole {
			l.end()
		}
	}
	return n, nil
}

func (l *Lines) add(part []byte) error {
	if l.skipped == 0 && int64(len(l.buf)+len(part)) <= l.Max {
		l.buf = append(l.buf, part...)
		return nil
	}
	if l.skipped == 0 {
		l.skipped = int64(len(l.buf))
		if l.Lost != nil {
			l.Lost(fmt.Errorf("its answer is longer than %d bytes", l.Max))
		}
	}
	l.buf = nil
	l.skipped += int64(len(part)) + 1
	if l.Patience > 0 && l.skipped > l.Patience*l.Max {
		return errNoLine
	}
	return nil
}

func (l *Lines) end() {
	if l.skipped == 0 {
		l.Line(l.buf)
	}
	l.skipped = 0
	if l.buf = l.buf[:0]; cap(l.buf) > 1<<20 {
		l.buf = nil
	}
}

// Messages are those of a text in JSON-RPC: mostly one; several in a batch, as MCP once
// had them, and then isBatch; none in white space.
func Messages(text []byte) (list []json.RawMessage, isBatch bool) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return nil, false
	case text[0] == '[' && json.Unmarshal(text, &list) == nil && len(list) > 0:
		return list, true
	}
	return []json.RawMessage{text}, false
}
