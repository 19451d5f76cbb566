package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"rouse/internal/text"
)

// patience is how many times the size of a message a server may write without a
// line break before it is ended.
const patience = 8

// framer cuts what a server writes into lines, and holds no more than one of them.
type framer struct {
	max  int64
	line func([]byte)
	lost func(error) // a line was too long

	buf     []byte
	skipped int64 // bytes of a line that is too long; 0 if it is not
}

var errNoLine = errors.New("it writes without end and without a line break")

func (f *framer) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte{'\n'})
		b = rest
		if err := f.add(part); err != nil {
			return 0, err
		}
		if whole {
			f.end()
		}
	}
	return n, nil
}

func (f *framer) add(part []byte) error {
	if f.skipped == 0 && int64(len(f.buf)+len(part)) <= f.max {
		f.buf = append(f.buf, part...)
		return nil
	}
	if f.skipped == 0 {
		f.skipped = int64(len(f.buf))
		f.lost(fmt.Errorf("its answer is longer than %d bytes", f.max))
	}
	f.buf = nil
	f.skipped += int64(len(part)) + 1
	if f.skipped > patience*f.max {
		return errNoLine
	}
	return nil
}

func (f *framer) end() {
	if f.skipped == 0 {
		f.line(f.buf)
	}
	f.skipped = 0
	if f.buf = f.buf[:0]; cap(f.buf) > 1<<20 {
		f.buf = nil
	}
}

// messages are the messages of a line: mostly one; several in a batch, as the
// protocol once had them; none in an empty line.
func messages(line []byte) [][]byte {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var batch []json.RawMessage
	if line[0] != '[' || json.Unmarshal(line, &batch) != nil {
		return [][]byte{line}
	}
	var list [][]byte
	for _, m := range batch {
		list = append(list, m)
	}
	return list
}

// tailSize is how much of a server's standard error is kept, in bytes.
const tailSize = 4 << 10

// said is what the server said last, in one line to be put after a message.
func (p *pipes) said() string {
	said := text.Words(p.stderr.String())
	if said == "" {
		return ""
	}
	return "; it said: " + text.Tail(said, 500)
}
