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
	_ = os.Unsetenv(Variable) // of a fit name
	fd, err := strconv.Atoi(environ[i][len(Variable)+1:])
	var is syscall.Stat_t
	if err != nil || fd < 3 || syscall.Fstat(fd, &is) != nil || is.Mode&syscall.S_IFMT != syscall.S_IFSOCK || syscall.SetNonblock(fd, true) != nil {
		return nil, environ, fmt.Errorf("%s names no connected socket: workers of a fleet set it for the cycles that they run; unset it", environ[i])
	}
	syscall.CloseOnExec(fd)
	m := &Mirror{conn: os.NewFile(uintptr(fd), Variable), answered: make(chan struct{}, 1), sent: map[string]int64{}}
	m.ctx, m.lose = context.WithCancelCause(context.Background())
	go m.listen()
	return m, slices.DeleteFunc(slices.Clone(environ), named), nil
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
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
			err = errors.New("its worker is gone")
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
	l, size := Line{Path: rel, At: m.sent[rel]}, int64(chunk)
	if l.At == all || l.At > info.Size() {
		l.At, l.Whole, size = 0, true, info.Size()
	}
	if size > maxBytes {
		return l, fmt.Errorf("%s: %d bytes, at most %d can be sent at once", rel, size, maxBytes)
	}
	l.Data, err = io.ReadAll(io.NewSectionReader(f, l.At, size))
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
	if _, known := m.sent[rel]; flag&os.O_TRUNC != 0 {
		m.sent[rel] = all
	} else if !known {
		m.sent[rel] = disk.StampOf(name).Size
	}
}

// Rename puts a file into the place of another one, which is sent whole.
func (f files) Rename(oldname, newname string) error {
	rel, ok := f.mirrored(newname)
	if err := f.OS.Rename(oldname, newname); err != nil || !ok {
		return err
	}
	f.m.begin(rel, newname, os.O_TRUNC)
	return f.m.send(rel, newname)
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
