package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"syscall"
	"time"
)

const (
	// bufferSize is what one stream of a child costs in memory.
	bufferSize = 32 << 10
	// pipeSize is the most that a pipe can hold, unless root made it larger;
	// see pipe(7), /proc/sys/fs/pipe-max-size.
	pipeSize = 1 << 20
)

// streams are our ends of a child's pipes.
type streams struct {
	max int64       // bytes to pass on; 0 is no limit
	end func(Cause) // ends the child

	theirs  []*os.File // the child's ends, until it has them
	outputs []output
	input   *os.File // nil if the child is not fed
	source  io.Reader
	fed     chan struct{}
	pumps   sync.WaitGroup

	mu    sync.Mutex
	bytes int64
	err   error
}

type output struct {
	from *os.File
	to   io.Writer
}

// open makes the pipes that c asks for and gives the child's ends to cmd.
func (s *streams) open(c Command, cmd *exec.Cmd) error {
	if f, ok := c.Stdin.(*os.File); ok {
		cmd.Stdin = f
	} else if c.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		s.theirs, s.input, s.source = append(s.theirs, r), w, c.Stdin
		cmd.Stdin = r
	}
	stdout, err := s.pipe(c.Stdout)
	if err != nil {
		return err
	}
	stderr := stdout
	if !same(c.Stdout, c.Stderr) {
		if stderr, err = s.pipe(c.Stderr); err != nil {
			return err
		}
	}
	// A nil *os.File in an interface would not be nil.
	if stdout != nil {
		cmd.Stdout = stdout
	}
	if stderr != nil {
		cmd.Stderr = stderr
	}
	return nil
}

func (s *streams) pipe(to io.Writer) (*os.File, error) {
	if to == nil {
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs = append(s.theirs, w)
	s.outputs = append(s.outputs, output{r, to})
	return w, nil
}

// same reports whether a and b are one writer. Those that cannot be compared, be
// it only by what they hold, are not.
func same(a, b io.Writer) bool {
	return a != nil && reflect.ValueOf(a).Comparable() && a == b
}

// abandon closes everything; the child was not started.
func (s *streams) abandon() {
	s.closeTheirs()
	for _, o := range s.outputs {
		o.from.Close()
	}
	if s.input != nil {
		s.input.Close()
	}
}

func (s *streams) closeTheirs() {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
}

// run starts to feed the child and to pass on what it writes.
func (s *streams) run() {
	s.closeTheirs()
	for _, o := range s.outputs {
		s.pumps.Go(func() { s.pump(o) })
	}
	if s.input != nil {
		s.fed = make(chan struct{})
		go func() {
			io.Copy(s.input, s.source) // a child need not read it all
			s.input.Close()
			close(s.fed)
		}()
	}
}

// pump passes on one stream until its end, or until finish says that nobody is
// left to write.
func (s *streams) pump(o output) {
	defer o.from.Close()
	buf := make([]byte, bufferSize)
	for {
		n, err := o.from.Read(buf)
		if !s.pass(o.to, buf[:n]) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			Drain(o.from, buf, func(b []byte) bool { return s.pass(o.to, b) })
			return
		}
		if err != nil {
			return
		}
	}
}

// Drain passes on what is in a pipe, in pieces of the size of buf, and waits for no
// more; it says whether pass took it all. A stranger who holds the pipe and goes on
// writing gets no further than one pipe full.
func Drain(from *os.File, buf []byte, pass func([]byte) bool) bool {
	from.SetReadDeadline(time.Time{})
	raw, err := from.SyscallConn()
	for got := 0; err == nil && got < pipeSize; {
		n := 0
		err = raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf)
			return true // even if there is nothing: do not wait
		})
		if n <= 0 {
			break
		}
		if !pass(buf[:n]) {
			return false
		}
		got += n
	}
	return true
}

// pass writes b, as far as the limit lets it, and reports whether more may follow.
func (s *streams) pass(to io.Writer, b []byte) bool {
	fit := s.count(len(b))
	if _, err := to.Write(b[:fit]); err != nil {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		s.end(Canceled)
		return false
	}
	if fit < len(b) {
		s.end(Flooded)
	}
	return fit == len(b)
}

// count adds n bytes to the total and says how many of them are within the limit.
func (s *streams) count(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.max > 0 {
		n = int(min(int64(n), s.max-s.bytes))
	}
	s.bytes += int64(n)
	return n
}

// said is what a child wrote that was not started as it should be.
func (s *streams) said() (said []byte) {
	s.closeTheirs()
	for _, o := range s.outputs {
		Drain(o.from, make([]byte, 4<<10), func(b []byte) bool {
			said = append(said, b...)
			return true
		})
	}
	return said
}

// finish reads what is left in the pipes and ends all copying. It is called
// when the tree is gone, so what is in a pipe now is all that ever will be.
func (s *streams) finish() {
	for _, o := range s.outputs {
		o.from.SetReadDeadline(time.Unix(1, 0))
	}
	s.pumps.Wait()
	if s.input == nil {
		return
	}
	s.input.Close()
	if c, ok := s.source.(io.Closer); ok {
		c.Close()
		<-s.fed
		return
	}
	select { // a reader that blocks and cannot be closed is left to itself
	case <-s.fed:
	case <-time.After(100 * time.Millisecond):
	}
}

func (s *streams) result() (bytes int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.err
}
