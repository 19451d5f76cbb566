package local

import (
	"errors"
	"os"
	"syscall"
	"time"

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
			s.from.SetReadDeadline(time.Time{})
			if !k.drain(s, name, buf) {
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

// drain passes on what is in the pipe, but waits for no more; then it says so.
func (k *kernel) drain(s *stream, name notebook.Stream, buf []byte) bool {
	raw, err := s.from.SyscallConn()
	for got := 0; err == nil && got < pipeSize; {
		n := 0
		err = raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf)
			return true // even if there is nothing: do not wait
		})
		if n <= 0 {
			break
		}
		if !k.pass(name, buf[:n]) {
			return false
		}
		got += n
	}
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
