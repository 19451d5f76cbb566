package mirror

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Serve takes the frames of one cycle until it closes its end, and gives each to do,
// whose nil the cycle waits for. An error of do is answered as lost, with its words,
// and ends Serve, as does what is no frame. Who calls it closes the connection.
func Serve(conn io.ReadWriter, do func(Line) error) error {
	r := bufio.NewReaderSize(conn, maxHeader)
	for {
		l, err := readFrame(r)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(l)
		}
		if answered := reply(conn, err); err == nil {
			err = answered
		}
		if err != nil {
			return err
		}
	}
}

func reply(w io.Writer, err error) error {
	var a answer
	if err != nil {
		a.Lost = fmt.Sprintf("%.1000s", err)
	}
	line, failed := json.Marshal(a)
	if failed == nil {
		_, failed = w.Write(append(line, '\n'))
	}
	return failed
}

// readFrame reads the next frame; [io.EOF] is an end between two.
func readFrame(r *bufio.Reader) (Line, error) {
	text, err := r.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		return Line{}, io.EOF
	}
	var h header
	if err == nil {
		err = json.Unmarshal(text, &h)
	} else if errors.Is(err, bufio.ErrBufferFull) {
		err = fmt.Errorf("a first line above %d bytes", maxHeader)
	}
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return Line{}, fmt.Errorf("mirror: no frame: %w", unexpected(err))
	}
	var data bytes.Buffer // grows as bytes come, whatever the line says
	if _, err = io.CopyN(&data, r, h.Bytes); err != nil {
		return Line{}, fmt.Errorf("mirror: %s: half a frame: %w", h.File, unexpected(err))
	}
	return Line{h.File, h.At, h.Whole, data.Bytes()}, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
