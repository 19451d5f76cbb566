// Package disktest makes file systems fail, for tests of what writes through
// [disk.FS]: [Faulty] fails or stops at the Nth operation, [PowerLoss] forgets
// what was not made durable. They combine: a Faulty over a PowerLoss stops at
// the Nth operation, and the power goes at that moment.
//
// A fault that did not fire proves nothing: tests check [Faulty.Fired], and show
// that a careless writer is caught by the same faults.
package disktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"rouse/internal/disk"
)

// ErrCrashed is what every operation of a [Faulty] gives once it has crashed:
// the process is dead, and nothing is done any more.
var ErrCrashed = errors.New("disktest: crashed")

// Mode is what becomes of an operation that a fault meets.
type Mode int

// The ways to fail. Only a write can be done by half, its first half; another
// operation is then not done.
const (
	Before      Mode = iota // not done, and an error
	Half                    // done by half, and an error
	After                   // done, and an error all the same
	CrashBefore             // not done, and the process is dead
	CrashHalf               // done by half, and the process is dead
	CrashAfter              // done, and the process is dead
)

func (m Mode) String() string {
	return [...]string{"before", "half", "after", "crash before", "crash half", "crash after"}[m]
}

// Crash reports whether the process is dead after such a fault.
func (m Mode) Crash() bool { return m >= CrashBefore }

// Fault says which operations fail, and how.
type Fault struct {
	At    int // the first operation to fail, counted from 1; 0 for none
	Stays bool
	Mode  Mode
	Err   syscall.Errno // of a mode that is no crash
}

func (f Fault) String() string {
	s := fmt.Sprintf("operation %d, %s", f.At, f.Mode)
	if !f.Mode.Crash() {
		s += fmt.Sprintf(", %v", f.Err)
	}
	if f.Stays {
		s += ", from then on"
	}
	return s
}

// errnos are the errors that a write meets on a real machine.
var errnos = []syscall.Errno{
	syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EACCES, syscall.EDQUOT, syscall.EMFILE,
}

// Faults lists all kinds of fault, each without its At: three ways to fail, once
// and from then on, with each of six errors, and three ways to crash.
func Faults() []Fault {
	list := []Fault{{Mode: CrashBefore}, {Mode: CrashHalf}, {Mode: CrashAfter}}
	for _, errno := range errnos {
		for _, mode := range []Mode{Before, Half, After} {
			list = append(list, Fault{Mode: mode, Err: errno}, Fault{Mode: mode, Err: errno, Stays: true})
		}
	}
	return list
}

// Faulty is a [disk.FS] that counts the operations on another one, those on its
// files included, and fails as its Fault says. It is safe for several
// goroutines.
type Faulty struct {
	FS    disk.FS // nil: disk.OS
	Fault Fault

	mu    sync.Mutex
	ops   []string
	fired []string
	dead  bool
}

// Fired lists the operations that the fault met.
func (f *Faulty) Fired() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// Ops lists all operations, as "rename a b", up to a crash.
func (f *Faulty) Ops() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// operation is one call on the file system below. Its names tell it in lists and
// errors; half may be nil.
type operation struct {
	name, path, newPath string
	do, half            func() error
}

func (o operation) String() string {
	if o.newPath != "" {
		return o.name + " " + o.path + " " + o.newPath
	}
	return o.name + " " + o.path
}

// error is errno as package os would tell it.
func (o operation) error(errno syscall.Errno) error {
	if o.newPath != "" {
		return &os.LinkError{Op: o.name, Old: o.path, New: o.newPath, Err: errno}
	}
	return &fs.PathError{Op: o.name, Path: o.path, Err: errno}
}

func (f *Faulty) run(o operation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return ErrCrashed
	}
	f.ops = append(f.ops, o.String())
	n := len(f.ops)
	if f.Fault.At == 0 || n < f.Fault.At || n > f.Fault.At && !f.Fault.Stays {
		return o.do()
	}
	return f.fail(o)
}

func (f *Faulty) fail(o operation) error {
	f.fired = append(f.fired, o.String())
	var err error
	switch f.Fault.Mode {
	case After, CrashAfter:
		err = o.do()
	case Half, CrashHalf:
		if o.half != nil {
			err = o.half()
		}
	}
	if f.Fault.Mode.Crash() {
		f.dead = true
		return ErrCrashed
	}
	if err != nil {
		return err
	}
	return o.error(f.Fault.Err)
}

func (f *Faulty) below() disk.FS { return disk.Or(f.FS) }

// OpenFile opens a file whose operations are counted too.
func (f *Faulty) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	var file disk.File
	err := f.run(operation{name: "open", path: name, do: func() (err error) {
		file, err = f.below().OpenFile(name, flag, perm)
		return err
	}})
	if err != nil {
		if file != nil {
			file.Close()
		}
		return nil, err
	}
	return &faultyFile{f, file, name}, nil
}

// Rename is one operation.
func (f *Faulty) Rename(oldname, newname string) error {
	return f.run(operation{name: "rename", path: oldname, newPath: newname,
		do: func() error { return f.below().Rename(oldname, newname) }})
}

// Link is one operation.
func (f *Faulty) Link(oldname, newname string) error {
	return f.run(operation{name: "link", path: oldname, newPath: newname,
		do: func() error { return f.below().Link(oldname, newname) }})
}

// Remove is one operation.
func (f *Faulty) Remove(name string) error {
	return f.run(operation{name: "remove", path: name, do: func() error { return f.below().Remove(name) }})
}

// MkdirAll is one operation.
func (f *Faulty) MkdirAll(name string, perm fs.FileMode) error {
	return f.run(operation{name: "mkdir", path: name, do: func() error { return f.below().MkdirAll(name, perm) }})
}

// SyncDir is one operation.
func (f *Faulty) SyncDir(name string) error {
	return f.run(operation{name: "syncdir", path: name, do: func() error { return f.below().SyncDir(name) }})
}

type faultyFile struct {
	f    *Faulty
	file disk.File
	name string
}

func (w *faultyFile) Write(p []byte) (n int, err error) {
	write := func(p []byte) func() error {
		return func() (err error) {
			n, err = w.file.Write(p)
			return err
		}
	}
	err = w.f.run(operation{name: "write", path: w.name, do: write(p), half: write(p[:len(p)/2])})
	return n, err
}

// Sync that fails spoils what it should have made durable: see [disk.File].
func (w *faultyFile) Sync() error {
	err := w.f.run(operation{name: "sync", path: w.name, do: w.file.Sync})
	if s, ok := w.file.(interface{ spoil() }); ok && err != nil {
		s.spoil()
	}
	return err
}

// Close gives the descriptor back also where it fails, as a real one does.
func (w *faultyFile) Close() error {
	err := w.f.run(operation{name: "close", path: w.name, do: w.file.Close})
	if err != nil {
		w.file.Close()
	}
	return err
}
