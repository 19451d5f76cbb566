package journal

import (
	"errors"
	"fmt"
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

	fs    disk.FS
	file  disk.File
	path  string
	cycle string
	now   func() time.Time

	mu     sync.Mutex
	seq    int
	torn   bool // the file may end in half a line
	synced bool // the file's name is durable
}

// Create begins the journal of a cycle. It fails with an error that is
// [fs.ErrExist] if there is one already.
func Create(f disk.FS, path, cycle string, now func() time.Time) (*Writer, error) {
	return open(f, path, cycle, now, os.O_CREATE|os.O_EXCL)
}

// Resume goes on with the journal of an interrupted cycle, after event seq.
func Resume(f disk.FS, path, cycle string, now func() time.Time, seq int) (*Writer, error) {
	w, err := open(f, path, cycle, now, 0)
	if err != nil {
		return nil, err
	}
	w.seq, w.torn = seq, true
	return w, nil
}

func open(f disk.FS, path, cycle string, now func() time.Time, flag int) (*Writer, error) {
	file, err := f.OpenFile(path, os.O_WRONLY|os.O_APPEND|flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{fs: f, file: file, path: path, cycle: cycle, now: now}, nil
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
	e := Event{Header: Header{Version, w.seq + 1, w.now(), w.cycle, p.event()}, Data: p}
	line, err := e.MarshalJSON()
	if err != nil {
		return fmt.Errorf("journal %s: %w", e.Header.Event, err)
	}
	if err := w.write(append(line, '\n')); err != nil {
		return fmt.Errorf("journal %s: %w", e.Header.Event, err)
	}
	w.seq++
	if err := w.log(e); err != nil {
		return fmt.Errorf("log %s: %w", e.Header.Event, err)
	}
	if w.Watch != nil {
		w.Watch(e)
	}
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
	if w.torn {
		line = append([]byte{'\n'}, line...)
	}
	w.torn = true
	if _, err := w.file.Write(line); err != nil {
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
