// Package home is the folder in which an agent lives: the names of its files, the
// lock on it, and its memory as it is found there.
package home

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// CycleForm is the form of a cycle's id, in local time.
const CycleForm = "20060102_150405"

// Home is a folder with rules.md, in which an agent lives. It is the only type
// that knows the names of files.
type Home struct{ Dir string }

// Open checks that dir is a home.
func Open(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("home %s: %w", dir, err)
	}
	h := Home{abs}
	if _, err := os.Stat(h.Rules()); errors.Is(err, fs.ErrNotExist) {
		return Home{}, fmt.Errorf("%s is not a home: it has no rules.md; make one with: rouse init %s", dir, dir)
	} else if err != nil {
		return Home{}, fmt.Errorf("home: %w", err)
	}
	return h, nil
}

// Rules is the system prompt.
func (h Home) Rules() string { return filepath.Join(h.Dir, "rules.md") }

// maxRules is the largest rules.md, in bytes.
const maxRules = 1 << 20

// ReadRules reads the system prompt. What is no regular file, such as a FIFO, is
// not waited for.
func (h Home) ReadRules() (string, error) {
	info, err := os.Stat(h.Rules())
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("rules.md is not a regular file")
	case info.Size() > maxRules:
		return "", fmt.Errorf("rules.md has %d bytes, the limit is %d", info.Size(), maxRules)
	}
	data, err := os.ReadFile(h.Rules())
	return string(data), err
}

// Config is the configuration.
func (h Home) Config() string { return filepath.Join(h.Dir, "rouse.yaml") }

// Memory is the folder of the state and its snapshots.
func (h Home) Memory() string { return filepath.Join(h.Dir, "scratchpad") }

// Active is the state.
func (h Home) Active() string { return filepath.Join(h.Memory(), "active.yaml") }

// Initial is the state that a home without one starts from.
func (h Home) Initial() string { return filepath.Join(h.Memory(), "initial.yaml") }

// Before is the snapshot of the state at wake.
func (h Home) Before(cycle string) string { return filepath.Join(h.Memory(), cycle+"_before.yaml") }

// After is the snapshot of the state at sleep.
func (h Home) After(cycle string) string { return filepath.Join(h.Memory(), cycle+"_after.yaml") }

// Reset is where a reset puts the state; id has the form of a cycle's.
func (h Home) Reset(id string) string { return filepath.Join(h.Memory(), id+"_reset.yaml") }

// Logs is the folder of the journals.
func (h Home) Logs() string { return filepath.Join(h.Dir, "logs") }

// Journal is the record of a cycle.
func (h Home) Journal(cycle string) string {
	return filepath.Join(h.Logs(), "cycle_"+cycle+".jsonl")
}

// Log is the record of a cycle for people.
func (h Home) Log(cycle string) string { return filepath.Join(h.Logs(), "cycle_"+cycle+".log") }

// DroppedNotes has what became too much for the notes of the memory.
func (h Home) DroppedNotes() string { return filepath.Join(h.Logs(), "notes_dropped.log") }

// Notebooks is the folder of the notebooks.
func (h Home) Notebooks() string { return filepath.Join(h.Dir, "notebooks") }

// IdleRecord is what the last cycle that found nothing to do left.
func (h Home) IdleRecord() string { return filepath.Join(h.Logs(), "idle.json") }

// Models is what was found out about models.
func (h Home) Models() string { return filepath.Join(h.Logs(), "models.json") }

// Bin is the folder of the home's scripts.
func (h Home) Bin() string { return filepath.Join(h.Dir, "bin") }

// Served is the folder of the notebooks that are run for others.
func (h Home) Served() string { return filepath.Join(h.Dir, "served") }

// Vault holds the credentials, encrypted.
func (h Home) Vault() string { return filepath.Join(h.Dir, "vault.age") }

// VaultKey is the key to the vault.
func (h Home) VaultKey() string { return filepath.Join(h.Dir, "vault.key") }

// Env holds variables as lines NAME=value.
func (h Home) Env() string { return filepath.Join(h.Dir, ".env") }

// Folder is a folder that the configuration names, relative to the home.
func (h Home) Folder(dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(h.Dir, dir)
}

// Rel shortens a path inside the home for messages.
func (h Home) Rel(path string) string {
	if rel, err := filepath.Rel(h.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// Cycles gives the ids of at most limit cycles, the newest first; 0 means all.
func (h Home) Cycles(limit int) ([]string, error) {
	return newest(h.Logs(), "cycle_", ".jsonl", limit)
}

// Knows reports whether the home has a log or a snapshot of a cycle.
func (h Home) Knows(cycle string) bool {
	return exists(h.Journal(cycle)) || exists(h.Before(cycle)) || exists(h.After(cycle))
}

// Newest is the newest cycle that the home has any trace of, or "". Where there
// is no log, it is the newest snapshot, or the newest reset: that may have removed
// what was before it, but not what was kept under the names of those cycles.
func (h Home) Newest() (string, error) {
	ids, err := h.Cycles(1)
	for _, suffix := range []string{"_before.yaml", "_reset.yaml"} {
		if err == nil && len(ids) == 0 {
			ids, err = newest(h.Memory(), "", suffix, 1)
		}
	}
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// newest reads a folder once, without sorting or asking about its files, so that
// ten thousand old cycles cost little.
func newest(dir, prefix, suffix string, limit int) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var ids []string
	err = eachName(d, func(name []byte) {
		if id, ok := cycleID(name, prefix, suffix); ok {
			ids = append(ids, string(id))
		}
		if limit > 0 && len(ids) > limit+1000 {
			ids = topN(ids, limit)
		}
	})
	return topN(ids, limit), err
}

func cycleID(name []byte, prefix, suffix string) ([]byte, bool) {
	id, ok := bytes.CutPrefix(name, []byte(prefix))
	if !ok {
		return nil, false
	}
	id, ok = bytes.CutSuffix(id, []byte(suffix))
	return id, ok && ValidCycle(string(id))
}

// ValidCycle says whether id has the form of a cycle's id.
func ValidCycle(id string) bool {
	if len(id) != len(CycleForm) || id[8] != '_' {
		return false
	}
	for i := range len(id) {
		if i != 8 && (id[i] < '0' || id[i] > '9') {
			return false
		}
	}
	return true
}

func topN(ids []string, n int) []string {
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	if n > 0 && len(ids) > n {
		ids = ids[:n]
	}
	return ids
}

// NextID names a cycle that starts now: after every other one, also when the
// clock went back, the same hour comes twice, or a second is not over.
func NextID(now time.Time, newest string) string {
	id := now.Format(CycleForm)
	if id > newest {
		return id
	}
	t, err := time.ParseInLocation(CycleForm, newest, time.UTC)
	if err != nil {
		return id
	}
	return t.Add(time.Second).Format(CycleForm)
}
