package notebook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rouse/internal/disk"
)

const (
	// cancelName is the file by which another process asks for an end.
	cancelName     = "cancel"
	cancelLook     = 200 * time.Millisecond
	cancelPatience = 3 * time.Second
)

// CancelCell interrupts the cell, or the installation, that runs in a notebook,
// be it in another process. It does not wait for its end. It is an error if
// nothing runs.
func (m *Manager) CancelCell(ctx context.Context, name string) error {
	s, err := m.Store(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	o := m.open[name]
	m.mu.Unlock()
	if o == nil {
		return m.askCancel(ctx, s, name)
	}
	if o.mu.TryLock() {
		o.mu.Unlock()
		return idle(name)
	}
	o.runtime.Cancel()
	return nil
}

func idle(name string) error {
	return fmt.Errorf("notebook %s: no cell runs that could be canceled", name)
}

// askCancel asks the process that has the notebook open.
func (m *Manager) askCancel(ctx context.Context, s Store, name string) error {
	if unlock, err := lock(filepath.Join(s.Dir, lockName)); err == nil {
		unlock()
		return idle(name)
	}
	file := filepath.Join(s.Dir, cancelName)
	if err := disk.Replace(m.FS, file, nil, 0o600); err != nil {
		return fmt.Errorf("cancel notebook %s: %w", name, err)
	}
	ctx, stop := context.WithTimeout(ctx, cancelPatience)
	defer stop()
	tick := time.NewTicker(cancelLook / 4)
	defer tick.Stop()
	for {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if m.FS.Remove(file) != nil {
				return nil // heard after all
			}
			return idle(name)
		}
	}
}

// heed cancels what runs in a notebook when another process asks for it, until
// stop is called.
func (m *Manager) heed(o *opened) (stop func()) {
	file, done := filepath.Join(o.store.Dir, cancelName), make(chan struct{})
	go func() {
		tick := time.NewTicker(cancelLook)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if _, err := os.Lstat(file); err == nil && m.FS.Remove(file) == nil {
					o.runtime.Cancel()
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
