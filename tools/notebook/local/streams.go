package local

import (
	"errors"
	"os"
	"time"

	"rouse/internal/proc"
	"rouse/tools/notebook"
)

var streamNames = [2]notebook.Stream{notebook.Stdout, notebook.Stderr}

const (
	streamBuffer = 64 << 10
	// pipeSize is the most that a pipe can hold; see pipe(7).
	pipeSize = 1 << 20
)

// stream is one output of a process. It is read only while a cell runs: what a
// thread prints between two cells waits in the pipe for the next one.
type stream struct {
	from    *os.File
	drained chan struct{} // told when all that was in the pipe is passed on
}

func newStream(from *os.File) *stream {
	widen(from)
	return &stream{from: from, drained: make(chan struct{})}
}

// pump passes on what comes until the end of the stream, and at each deadline
// all that is in the pipe.
func (k *kernel) pump(s *stream, name notebook.Stream) {
	buf := make([]byte, streamBuffer)
	for {
		n, err := s.from.Read(buf)
		if n > 0 && !k.pass(name, buf[:n]) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !proc.Drain(s.from, buf, func(b []byte) bool { return k.pass(name, b) }) || !k.told(s) {
				return
			}
			err = nil
		}
		if err != nil {
			close(s.drained)
			return
		}
	}
}

// told says that all that was in the pipe is passed on.
func (k *kernel) told(s *stream) bool {
	select {
	case s.drained <- struct{}{}:
		return true
	case <-k.stop:
		return false
	}
}

// flush returns when all that the process has written until now was passed on.
func (k *kernel) flush() {
	for _, s := range k.streams {
		s.from.SetReadDeadline(time.Unix(1, 0))
	}
	for _, s := range k.streams {
		<-s.drained
	}
}

// pass gives output to the cell that runs; if there is none, to the next one.
// It reports whether the process is still listened to.
func (k *kernel) pass(name notebook.Stream, b []byte) bool {
	for {
		k.mu.Lock()
		for k.current == nil && !k.stopped {
			k.changed.Wait()
		}
		r := k.current
		k.mu.Unlock()
		if r == nil {
			return false
		}
		if r.output(name, b) {
			return true
		}
	}
}
