package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rouse/internal/disk"
	"rouse/internal/sse"
	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// stream is what a job says: its events as text, in a file without a name, so
// that whoever lost the connection gets the rest, and much output takes no
// memory.
type stream struct {
	mu      sync.Mutex
	w       disk.File
	r       *os.File
	size    int64
	tail    []byte        // the last event, if the file does not take it
	ended   bool          // the last event is there
	changed chan struct{} // closed at each change
	err     error         // of the file
}

func newStream(fs disk.FS, dir string) (*stream, error) {
	name := filepath.Join(dir, "."+rand.Text()+".events")
	w, err := fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	r, err := os.Open(name)
	if err = errors.Join(err, fs.Remove(name)); err != nil {
		w.Close()
		r.Close() // of nil does nothing
		return nil, err
	}
	return &stream{w: w, r: r, changed: make(chan struct{})}, nil
}

// add adds an event.
func (s *stream) add(name string, v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.ended {
		return s.err
	}
	b, err := wire.Encode(s.size, name, v)
	if err == nil && len(b) > wire.MaxEvent {
		err = sse.ErrTooLarge
	}
	if err == nil {
		_, err = s.w.Write(b)
	}
	if err != nil {
		s.err = fmt.Errorf("the server cannot keep the output: %w", err)
		return s.err
	}
	s.size += int64(len(b))
	s.tell()
	return nil
}

// end adds the last event. If it cannot be kept, another one says so.
func (s *stream) end(name string, v any) {
	err := s.add(name, v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if err != nil {
		v = wire.Done{Error: err.Error()}
		if name == wire.EventCell {
			v = notebook.Outcome{Ended: notebook.Died, Error: err.Error(), Lost: true}
		}
		s.tail, _ = wire.Encode(s.size, name, v) // of strings
	}
	s.ended = true
	s.tell()
}

func (s *stream) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// state is how far it is, and what is closed when there is more.
func (s *stream) state() (size int64, tail []byte, ended bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.tail, s.ended, s.changed
}

// close lets the file go.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.Close()
	s.r.Close()
}

// follow writes everything from an offset on, as it comes, to the end.
func (s *stream) follow(ctx context.Context, w http.ResponseWriter, at int64, ping time.Duration) {
	out := http.NewResponseController(w)
	tick := time.NewTicker(ping)
	defer tick.Stop()
	for {
		size, tail, ended, changed := s.state()
		// A client that does not read is left; it can come again.
		out.SetWriteDeadline(time.Now().Add(time.Minute))
		n, err := io.Copy(w, io.NewSectionReader(s.r, at, size-at))
		at += n
		if err == nil && ended && at == size {
			_, err = w.Write(tail)
		}
		if err = errors.Join(err, out.Flush()); err != nil || ended && at == size {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
			io.WriteString(w, ": alive\n\n")
		case <-ctx.Done():
			return
		}
	}
}
