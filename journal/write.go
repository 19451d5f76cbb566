package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rouse/internal/disk"
)

// Writer appends events to the journal of one cycle. It may be used by several
// goroutines.
type Writer struct {
	// Watch, unless nil, is given each event once it is written.
	Watch func(Event)
	// Log, unless nil, takes each event as text for people; Close closes it.
	Log disk.File
	// Redact, unless nil, takes the secrets out of what events say in words.
	Redact func(string) string

	fs   disk.FS
	file disk.File
	path string
	now  func() time.Time

	mu     sync.Mutex
	chain  *Chain
	torn   bool   // the file may end in half a line
	failed []byte // the line whose write failed: it may be there all the same
	synced bool   // the file's name is durable
}

// Create begins the journal of a cycle, with a new chain. It fails with an error
// that is [fs.ErrExist] if there is one already.
func Create(f disk.FS, path string, c *Chain, now func() time.Time) (*Writer, error) {
	return open(f, path, c, now, os.O_CREATE|os.O_EXCL)
}

// Resume goes on with the journal of an interrupted cycle, where the chain is
// after [Check].
func Resume(f disk.FS, path string, c *Chain, now func() time.Time) (*Writer, error) {
	w, err := open(f, path, c, now, 0)
	if err != nil {
		return nil, err
	}
	w.torn = true
	return w, nil
}

func open(f disk.FS, path string, c *Chain, now func() time.Time, flag int) (*Writer, error) {
	file, err := f.OpenFile(path, os.O_WRONLY|os.O_APPEND|flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{fs: f, file: file, path: path, chain: c, now: now}, nil
}

// Append writes one event: when it returns nil, the event outlives this process.
// What p says in words has lost its secrets then.
func (w *Writer) Append(p Payload) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Redact != nil {
		for _, text := range words(p) {
			*text = w.Redact(*text)
		}
	}
	if err := w.recall(); err != nil {
		return fmt.Errorf("journal %s: %w", p.event(), err)
	}
	e := Event{Header: Header{Version, w.chain.seq + 1, w.now(), w.chain.cycle, p.event()}, Data: p}
	line, err := e.MarshalJSON()
	if err == nil {
		e.Line = w.chain.seal(line)
		err = w.write(e.Line)
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", e.Header.Event, err)
	}
	w.chain.goOn(e.Line)
	if err := w.log(e); err != nil {
		return fmt.Errorf("log %s: %w", e.Header.Event, err)
	}
	if w.Watch != nil {
		w.Watch(e)
	}
	return nil
}

// recall goes on after a line whose write failed, if it is there all the same:
// what follows would not be proven otherwise.
func (w *Writer) recall() error {
	if w.failed == nil {
		return nil
	}
	f, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end := make([]byte, min(size, int64(len(w.failed))+1))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return err
	}
	if bytes.HasSuffix(bytes.TrimSuffix(end, []byte("\n")), w.failed) {
		w.chain.goOn(w.failed)
	}
	w.failed = nil
	return nil
}

func (w *Writer) log(e Event) error {
	text := e.Text()
	if w.Log == nil || text == "" {
		return nil
	}
	_, err := w.Log.Write([]byte(e.Time.Format("15:04:05.000 ") + text + "\n"))
	return err
}

// write never lets a line follow half of another one.
func (w *Writer) write(line []byte) error {
	text := make([]byte, 0, len(line)+2)
	if w.torn {
		text = append(text, '\n')
	}
	w.torn = true
	if _, err := w.file.Write(append(append(text, line...), '\n')); err != nil {
		w.failed = line
		return err
	}
	w.torn = false
	return nil
}

// Sync makes all events so far durable, and the first time the file's name.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.file.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if w.synced {
		return nil
	}
	if err := w.fs.SyncDir(filepath.Dir(w.path)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	w.synced = true
	return nil
}

// Close closes the file; a second call does nothing.
func (w *Writer) Close() error {
	if w.Log != nil {
		w.Log.Close()
	}
	err := w.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
