package mirror

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Serve takes the frames of one cycle until it closes its end, and gives each to do,
// whose nil the cycle waits for. An error of do is answered as lost, with its words,
// and ends Serve, as does what is no frame. Who calls it closes the connection.
func Serve(conn io.ReadWriter, do func(Line) error) error {
	for r := bufio.NewReaderSize(conn, maxHeader); ; {
		l, err := readFrame(r)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(l)
		}
		var a answer
		if err != nil {
			a.Lost = fmt.Sprintf("%.1000s", err)
		}
		line, _ := json.Marshal(a) // of a string
		if _, failed := conn.Write(append(line, '\n')); err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
	}
}

// readFrame reads the next frame; [io.EOF] is an end between two.
func readFrame(r *bufio.Reader) (l Line, err error) {
	if _, err := r.Peek(1); err == io.EOF {
		return l, err
	}
	var h header
	text, err := r.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return l, fmt.Errorf("mirror: no frame: %w", err)
	}
	var data bytes.Buffer // grows as bytes come, whatever the line says
	if _, err = io.CopyN(&data, r, h.Bytes); err != nil {
		return l, fmt.Errorf("mirror: %s: half a frame: %w", h.File, err)
	}
	return Line{h.File, h.At, h.Whole, data.Bytes()}, nil
}
