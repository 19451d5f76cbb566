// Package inbox is where people and programs leave tasks for a home, also while a cycle is
// awake: a folder with a file for each, in the order of their names.
//
// A task is taken in once: the cycle's journal has the change of the memory and the name of
// the file before anything else happens, and the file goes only when the memory is saved.
// What dies in between finds the name in the journal, and the task in the memory.
package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/disk"
)

const (
	// MaxTask is how large a task may be, in bytes, and maxItems how many may wait.
	MaxTask  = 64 << 10
	maxItems = 1000
	// MaxFile is how large the file of a task may be: YAML and JSON write a byte as up to six.
	MaxFile = 7 * MaxTask

	form   = "20060102T150405.000000000Z" // the time of a task, in the name of its file
	suffix = ".yaml"
)

// Item is a task that was left.
type Item struct {
	ID    string    `yaml:"-"` // the name of its file
	Task  string    `yaml:"task"`
	Check []any     `yaml:"check,omitempty"` // as tasks in the memory carry them
	By    string    `yaml:"by"`
	At    time.Time `yaml:"at"`
	// Origin is where the text came from, "" for the operator.
	Origin string `yaml:"origin,omitempty"`
}

// ErrFull says that too many tasks wait.
var ErrFull = errors.New("1000 tasks wait already: run cycles, or remove some of them")

// Put leaves a task, behind all that are there. It is on the disk when Put returns. Where it has
// an ID the name of its file ends with that.
func Put(f disk.FS, dir string, item Item) (id string, err error) {
	if err := f.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("inbox: %w", err)
	}
	ids, err := list(dir)
	if err == nil && len(ids) >= maxItems {
		err = ErrFull
	}
	if err != nil {
		return "", fmt.Errorf("inbox: %w", err)
	}
	text, err := yaml.Marshal(item)
	if err != nil {
		return "", fmt.Errorf("inbox: %w", err)
	}
	at := item.At.UTC()
	if n := len(ids); n > 0 { // a clock that was set back changes no order
		if newest, err := time.Parse(form, ids[n-1][:len(form)]); err == nil && !at.After(newest) {
			at = newest.Add(1)
		}
	}
	id = at.Format(form) + "-" + cmp.Or(item.ID, fmt.Sprintf("%08x", rand.Uint32())) + suffix
	if err := disk.Create(f, filepath.Join(dir, id), text, 0o600); err != nil {
		return "", fmt.Errorf("inbox: %w", err)
	}
	return id, nil
}

// list are the names of the tasks, in their order. What is called otherwise is somebody else's.
func list(dir string) (ids []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !e.Type().IsRegular() || len(name) < len(form) {
			continue
		}
		if _, err := time.Parse(form, name[:len(form)]); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// Waits says whether there is a task.
func Waits(dir string) bool {
	ids, _ := list(dir)
	return len(ids) > 0
}

// Has says whether the task with an ID waits.
func Has(dir, id string) (bool, error) {
	ids, err := list(dir)
	return slices.ContainsFunc(ids, func(name string) bool { return Is(name, id) }), err
}

// Is says whether the file with a name has the task with an ID.
func Is(name, id string) bool { return strings.HasSuffix(name, "-"+id+suffix) }

// List gives the tasks, in their order, but for those of these names. The error is about
// those that cannot be read, which are left.
func List(dir string, but ...string) (items []Item, err error) {
	ids, err := list(dir)
	for _, id := range ids {
		if slices.Contains(but, id) {
			continue
		}
		item, failed := read(filepath.Join(dir, id))
		if failed != nil {
			err = cmp.Or(err, fmt.Errorf("inbox: %s: %w; mend it, or remove it", id, failed))
			continue
		}
		items = append(items, item)
	}
	return items, err
}

func read(path string) (Item, error) {
	item := Item{ID: filepath.Base(path)}
	data, err := disk.ReadSmall(path, MaxFile)
	if err == nil {
		err = yaml.Unmarshal(data, &item)
	}
	if err == nil && strings.TrimSpace(item.Task) == "" {
		err = errors.New("it has no task")
	}
	return item, err
}

// Remove takes tasks out of the folder, some of which may be gone.
func Remove(f disk.FS, dir string, ids []string) error {
	for _, id := range ids {
		if err := f.Remove(filepath.Join(dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("inbox: %w", err)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return f.SyncDir(dir)
}
