package notebook

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/text"
)

const (
	warnAfter   = 3 // failing cells in a row
	refuseAfter = 5
	// maxEstimate is in seconds: a day, more than any limit.
	maxEstimate = 86400
)

// Manager owns the notebooks of a home. They are opened on first use; nobody
// else can use one that is open, be it another process. Set the fields before
// the first use. It is safe for several goroutines.
type Manager struct {
	// Dir is the folder of all notebooks; each has its own in it.
	Dir string
	FS  disk.FS
	// Open makes the runtime of the notebook with that name, whose folder is dir.
	Open func(name, dir string) (Runtime, error)
	// Variables are the names of the credentials that cells see in their environment.
	Variables []string
	// Redact cleans what is kept, shown and told. Nil keeps everything.
	Redact *redact.Redactor
	Now    func() time.Time
	// Recent is how many cells View and Dump show whole; default 10.
	Recent int
	// Before and After, unless nil, are told of each cell that is run. An error of
	// Before keeps it from being run; one of After is a note of the cell's.
	Before, After func(ctx context.Context, name string, c Cell) error

	mu   sync.Mutex
	open map[string]*opened
}

// opened is a notebook in use.
type opened struct {
	mu      sync.Mutex // one thing at a time
	runtime Runtime
	store   Store
	unlock  func()
	last    int      // number of the last cell
	failed  []string // the failing cells in a row
	closed  bool     // removed or closed; whoever waited for it looks again
}

// Request is a cell that is asked for.
type Request struct {
	Code, Description string
	// Estimate is in seconds; 0 is unknown.
	Estimate float64
	// Output, unless nil, takes what the cell prints on stdout as it comes.
	Output io.Writer
	// Progress, unless nil, is told each line that the cell reports.
	Progress func(line string)
	// Started, unless nil, is told of a process that was started.
	Started func(proc.Identity)
}

// Names lists the notebooks of the home, sorted.
func (m *Manager) Names() ([]string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list notebooks: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && CheckName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Store is where the cells of a notebook are, open or not. It is an error if
// there is no notebook of that name.
func (m *Manager) Store(name string) (Store, error) {
	if err := CheckName(name); err != nil {
		return Store{}, err
	}
	s := Store{Dir: filepath.Join(m.Dir, name), FS: m.FS}
	if fi, err := os.Lstat(s.Dir); err != nil || !fi.IsDir() {
		names, _ := m.Names()
		return Store{}, fmt.Errorf("there is no notebook %q; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return s, nil
}

// use opens a notebook, or finds it open, and takes a turn with it until the
// function that it returns is called.
func (m *Manager) use(name string) (*opened, func(), error) {
	if err := CheckName(name); err != nil {
		return nil, nil, err
	}
	for {
		o, err := m.find(name)
		if err != nil {
			return nil, nil, fmt.Errorf("notebook %s: %w", name, err)
		}
		o.mu.Lock()
		if !o.closed {
			return o, o.mu.Unlock, nil
		}
		o.mu.Unlock() // while we waited for our turn
	}
}

func (m *Manager) find(name string) (*opened, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.open[name]; o != nil {
		return o, nil
	}
	o, err := m.begin(name)
	if err != nil {
		return nil, err
	}
	if m.open == nil {
		m.open = map[string]*opened{}
	}
	m.open[name] = o
	return o, nil
}

func (m *Manager) begin(name string) (*opened, error) {
	s := Store{Dir: filepath.Join(m.Dir, name), FS: m.FS}
	if fi, err := os.Lstat(s.Dir); err == nil && !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", s.Dir)
	}
	if err := m.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(s.Dir, lockName))
	if err != nil {
		return nil, err
	}
	_ = os.Remove(filepath.Join(s.Dir, cancelName)) // of who was killed while asking for it
	last, err := s.Last()
	if err == nil {
		var r Runtime
		if r, err = m.Open(name, s.Dir); err == nil {
			return &opened{runtime: r, store: s, unlock: unlock, last: last}, nil
		}
	}
	unlock()
	return nil, err
}

const lockName = "lock"

// lock takes the lock of a notebook. What it returns gives it back.
func lock(name string) (unlock func(), err error) {
	unlock, err = disk.Lock(context.Background(), name, 0)
	if errors.Is(err, disk.ErrHeld) {
		return nil, errors.New("it is in use by another process; wait until that has ended")
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return unlock, nil
}

// Exec runs a cell in a notebook, which is made if there is none, and keeps it.
// An error means that it was not run, not kept, or that its output was not taken.
func (m *Manager) Exec(ctx context.Context, name string, q Request) (Cell, error) {
	o, done, err := m.use(name)
	if err != nil {
		return Cell{}, err
	}
	defer done()
	if len(o.failed) >= refuseAfter {
		return Cell{}, fmt.Errorf("notebook %s: %d cells in a row failed, so it runs no more in this cycle; the last: %s", name, len(o.failed), o.failed[len(o.failed)-1])
	}
	c := Cell{ID: strings.ToLower(rand.Text()), Number: o.last + 1, Time: clock.Now(m.Now), Description: m.Redact.String(q.Description),
		Code: m.Redact.String(q.Code), Estimate: min(max(q.Estimate, 0), maxEstimate)}
	if m.Before != nil {
		if err := m.Before(ctx, name, c); err != nil {
			return Cell{}, m.Redact.Error(fmt.Errorf("notebook %s: the cell was not run: %w", name, err))
		}
	}
	untaken, err := m.run(ctx, o, q, &c)
	if err != nil {
		return Cell{}, m.Redact.Error(fmt.Errorf("notebook %s: %w", name, err))
	}
	o.last = c.Number
	m.judge(o, &c)
	if m.After != nil {
		if err := m.After(ctx, name, c); err != nil {
			c.Notes = append(c.Notes, m.Redact.Error(err).Error())
		}
	}
	err = cmp.Or(o.store.Append(c), untaken)
	if err != nil {
		return c, fmt.Errorf("notebook %s: %w", name, err)
	}
	return c, nil
}

// run runs a cell and completes c with what came of it; untaken is why not all of
// its output was taken.
func (m *Manager) run(ctx context.Context, o *opened, q Request, c *Cell) (untaken, err error) {
	p := newPrinted(m.Redact, q)
	job := Job{ID: c.ID, Number: c.Number, Code: q.Code, Estimate: time.Duration(c.Estimate * float64(time.Second)), Started: q.Started}
	stop := m.heed(o)
	out, err := o.runtime.Execute(ctx, job, p.event)
	stop()
	p.close(err != nil || out.Ended != OK && out.Ended != Failed)
	if err != nil {
		return nil, err
	}
	c.Stdout, c.Stderr, c.StdoutBytes, c.StderrBytes = kept(&p.stdout), kept(&p.stderr), p.stdout.Total, p.stderr.Total
	c.Logs, c.Notes, c.Pictures, c.Refused, c.Reached = p.logs, out.Notes, out.Media, out.Refused, out.Reached
	for i, n := range c.Notes {
		c.Notes[i] = m.Redact.String(n)
	}
	c.HTML = m.Redact.String(out.HTML)
	c.Value, c.Error, c.Ended, c.Duration = m.Redact.String(out.Value), m.Redact.String(out.Error), out.Ended, out.Duration.Milliseconds()
	return p.err, nil
}

// judge counts the failing cells in a row, and says so when there are many. One
// that is no Python did not run: it costs the notebook nothing.
func (m *Manager) judge(o *opened, c *Cell) {
	if c.unread() {
		return
	}
	if c.Ended == OK || c.Ended == Canceled {
		o.failed = nil
		return
	}
	o.failed = append(o.failed, fmt.Sprintf("cell %d: %s", c.Number, text.Brief(c.Failure(), 200)))
	if n := len(o.failed); n >= warnAfter {
		note := fmt.Sprintf("%d cells in a row failed:\n%s\nThink about the cause before you go on; after %d this notebook runs no more in this cycle.", n, strings.Join(o.failed, "\n"), refuseAfter)
		c.Notes = append(c.Notes, note)
	}
}

// Install installs packages in a notebook; what the installer says goes to log.
func (m *Manager) Install(ctx context.Context, name string, packages []string, log io.Writer) error {
	o, done, err := m.use(name)
	if err != nil {
		return err
	}
	defer done()
	defer m.heed(o)()
	w := m.Redact.Writer(log)
	err = o.runtime.Install(ctx, packages, w)
	w.Close()
	if err != nil {
		return m.Redact.Error(fmt.Errorf("notebook %s: %w", name, err))
	}
	return nil
}

// Reset starts a notebook afresh: variables are gone, packages and cells stay.
func (m *Manager) Reset(ctx context.Context, name string) error {
	if _, err := m.Store(name); err != nil {
		return err
	}
	o, done, err := m.use(name)
	if err != nil {
		return err
	}
	defer done()
	return o.runtime.Reset(ctx)
}

// Remove deletes a notebook with its environment and its cells.
func (m *Manager) Remove(ctx context.Context, name string) error {
	s, err := m.Store(name)
	if err != nil {
		return err
	}
	o, done, err := m.use(name)
	if err != nil {
		return err
	}
	defer done()
	if err := o.runtime.Remove(ctx); err != nil {
		return err
	}
	err = os.RemoveAll(s.Dir)
	m.forget(name, o) // not before: whoever opens the name next has a new folder
	if err != nil {
		return fmt.Errorf("remove notebook %s: %w", name, err)
	}
	return nil
}

func (m *Manager) forget(name string, o *opened) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[name] == o {
		delete(m.open, name)
	}
	o.closed = true
	o.unlock()
}

// View writes the cells of a notebook for reading, see [Store.View].
func (m *Manager) View(name string, w io.Writer) error {
	s, err := m.Store(name)
	if err != nil {
		return err
	}
	return s.View(w, m.recent())
}

// Dump writes the cells of a notebook as Markdown, see [Store.Dump].
func (m *Manager) Dump(name string, w io.Writer) error {
	s, err := m.Store(name)
	if err != nil {
		return err
	}
	return s.Dump(w, m.recent())
}

// Cancel interrupts whatever runs in any notebook. It does not wait.
func (m *Manager) Cancel() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.open {
		o.runtime.Cancel()
	}
}

// Close saves and ends all notebooks that are open, several at a time, and
// writes their .ipynb. When ctx ends, those that are not saved yet just end. A
// cell that runs is waited for, so cancel first.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	all := m.open
	m.open = nil
	m.mu.Unlock()
	var wait sync.WaitGroup
	errs := make([]error, len(all))
	for i, name := range slices.Sorted(maps.Keys(all)) {
		wait.Go(func() {
			if err := all[name].close(ctx); err != nil {
				errs[i] = m.Redact.Error(fmt.Errorf("close notebook %s: %w", name, err))
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (o *opened) close(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := errors.Join(o.runtime.Close(ctx), o.store.WriteIpynb())
	o.closed = true
	o.unlock()
	return err
}

func (m *Manager) recent() int {
	if m.Recent <= 0 {
		return 10
	}
	return m.Recent
}
