package mirror

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"rouse/internal/disk"
)

// Variable names the descriptor of the socket, in the environment of a cycle.
const Variable = "ROUSE_MIRROR"

const (
	chunk    = 1 << 20     // of a file in one frame, unless that is the whole of it
	patience = time.Minute // for an answer: no lease is that long
	all      = -1          // has the whole file sent
)

// Mirror is the cycle's side. A nil one mirrors nothing.
type Mirror struct {
	conn *os.File
	ctx  context.Context // ends when the home is lost
	lose context.CancelCauseFunc

	asked    atomic.Bool
	answered chan struct{}

	mu   sync.Mutex
	sent map[string]int64 // how much the other side has, by file
}

// Take takes the socket that environ names out of it, so that no child inherits either.
// Without one it gives nil.
func Take(environ []string) (*Mirror, []string, error) {
	named := func(e string) bool { return strings.HasPrefix(e, Variable+"=") && len(e) > len(Variable)+1 }
	i := slices.IndexFunc(environ, named)
	if i < 0 {
		return nil, environ, nil
	}
	value := strings.TrimPrefix(environ[i], Variable+"=")
	_ = os.Unsetenv(Variable) // of a fit name
	m, err := open(value)
	if err != nil {
		return nil, environ, fmt.Errorf("%s=%s is no connected socket (%w): workers of a fleet set it for the cycles that they run; unset it", Variable, value, err)
	}
	return m, slices.DeleteFunc(slices.Clone(environ), named), nil
}

func open(value string) (*Mirror, error) {
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return nil, errors.New("a number from 3 is one")
	}
	var is syscall.Stat_t
	if err := syscall.Fstat(fd, &is); err != nil {
		return nil, err
	}
	if is.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return nil, errors.New("it is something else")
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return newMirror(os.NewFile(uintptr(fd), Variable)), nil
}

func newMirror(conn *os.File) *Mirror {
	m := &Mirror{conn: conn, answered: make(chan struct{}, 1), sent: map[string]int64{}}
	m.ctx, m.lose = context.WithCancelCause(context.Background())
	go m.listen()
	return m
}

// Context ends when the home is lost, with a cause that is [ErrLost].
func (m *Mirror) Context() context.Context {
	if m == nil {
		return context.Background()
	}
	return m.ctx
}

// listen reads answers, so that it is known at once, whatever the cycle does
// meanwhile, that there will be none any more.
func (m *Mirror) listen() {
	r := bufio.NewReaderSize(m.conn, maxHeader)
	for {
		line, err := r.ReadSlice('\n')
		var a answer
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
			err = errors.New("its worker is gone")
		case err == nil:
			err = json.Unmarshal(line, &a)
		}
		switch {
		case err != nil:
		case a.Lost != "":
			err = errors.New(a.Lost)
		case !m.asked.Swap(false):
			err = errors.New("an answer came that nobody had asked for")
		}
		if err != nil {
			m.lose(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
		m.answered <- struct{}{}
	}
}

// send hands on what the other side does not have of a file.
func (m *Mirror) send(rel, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if err := context.Cause(m.ctx); err != nil {
			return err
		}
		l, err := m.next(rel, name)
		if err != nil {
			return fmt.Errorf("mirror: %w", err)
		}
		if len(l.Data) == 0 && !l.Whole {
			return nil
		}
		if err := m.hand(l); err != nil {
			return err
		}
		m.sent[rel] = l.At + int64(len(l.Data))
	}
}

// next is what comes next of a file. One that became shorter is sent whole.
func (m *Mirror) next(rel, name string) (Line, error) {
	f, err := os.Open(name)
	if err != nil {
		return Line{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Line{}, err
	}
	from, size := m.sent[rel], info.Size()
	l := Line{Path: rel, At: from}
	switch {
	case from != all && from <= size:
		size = min(size-from, chunk)
	case size > maxBytes:
		return l, fmt.Errorf("%s: %d bytes, at most %d can be sent at once", rel, size, maxBytes)
	default:
		l.At, l.Whole = 0, true
	}
	l.Data = make([]byte, size)
	n, err := f.ReadAt(l.Data, l.At)
	if err == io.EOF {
		err = nil
	}
	l.Data = l.Data[:n]
	return l, err
}

// hand sends a frame and waits for its answer.
func (m *Mirror) hand(l Line) error {
	frame, err := json.Marshal(header{l.Path, l.At, l.Whole, int64(len(l.Data))})
	if err != nil {
		return err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	m.asked.Store(true)
	_ = m.conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = m.conn.Write(append(append(frame, '\n'), l.Data...)) // what fails is not answered
	select {
	case <-m.answered:
		return nil
	case <-m.ctx.Done():
	case <-late.C:
		m.lose(fmt.Errorf("%w: its worker has not answered for %s", ErrLost, patience))
	}
	return context.Cause(m.ctx)
}

// Disk is the machine's disk, which mirrors the home in dir; nil, which stands for the
// machine's, of a nil m. A Sync whose error is [ErrLost] made durable what it should, but here
// alone.
func (m *Mirror) Disk(dir string) disk.FS {
	if m == nil {
		return nil
	}
	return files{m: m, dir: dir + "/"}
}

type files struct {
	disk.OS
	m   *Mirror
	dir string
}

// mirrored is the path in the home of a file that is mirrored.
func (f files) mirrored(name string) (string, bool) {
	rel, ok := strings.CutPrefix(name, f.dir)
	return rel, ok && Mirrored(rel)
}

// OpenFile opens a file for writing.
func (f files) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	rel, ok := f.mirrored(name)
	if ok {
		f.m.begin(rel, name, flag)
	}
	file, err := f.OS.OpenFile(name, flag, perm)
	if !ok || err != nil {
		return file, err
	}
	return mirroredFile{file, f.m, rel, name}, nil
}

// begin remembers what there was of a file before the cycle wrote to it.
func (m *Mirror) begin(rel, name string, flag int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.sent[rel]; !known {
		m.sent[rel] = 0
		if info, err := os.Stat(name); err == nil {
			m.sent[rel] = info.Size()
		}
	}
	if flag&os.O_TRUNC != 0 {
		m.sent[rel] = all
	}
}

// Rename puts a file into the place of another one.
func (f files) Rename(oldname, newname string) error {
	return f.replaced(newname, f.OS.Rename(oldname, newname))
}

// Link makes a second name for a file.
func (f files) Link(oldname, newname string) error {
	return f.replaced(newname, f.OS.Link(oldname, newname))
}

func (f files) replaced(name string, err error) error {
	rel, ok := f.mirrored(name)
	if err != nil || !ok {
		return err
	}
	f.m.mu.Lock()
	f.m.sent[rel] = all
	f.m.mu.Unlock()
	return f.m.send(rel, name)
}

type mirroredFile struct {
	disk.File
	m         *Mirror
	rel, name string
}

// Sync makes what was written durable, here and there.
func (f mirroredFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	return f.m.send(f.rel, f.name)
}
