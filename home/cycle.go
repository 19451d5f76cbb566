package home

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/internal/disk"
)

// CycleForm is the form of a cycle's id, in local time.
const CycleForm = "20060102_150405"

// Kind is one of the files that a cycle leaves: what stands behind the id in its
// name.
type Kind string

// The files that a cycle leaves: two of the logs and two of the memory, and of some
// what was not believed of it.
const (
	JournalFile Kind = ".jsonl"
	LogFile     Kind = ".log"
	BeforeFile  Kind = "_before.yaml"
	AfterFile   Kind = "_after.yaml"

	UnprovenFile Kind = "_unproven.yaml"
	FullFile     Kind = ".full" // empty: the cycle could not sleep as the disk was full
	LostFile     Kind = ".lost" // empty: the machine that ran the cycle is lost, and its journal came from there

	resetFile Kind = "_reset.yaml" // of no cycle, but it takes an id
)

// logPrefix stands before the id in the names of files of the logs.
const logPrefix = "cycle_"

func (k Kind) inLogs() bool {
	return k == JournalFile || k == LogFile || k == FullFile || k == LostFile
}

// Left is the path of a file that a cycle leaves.
func (h Home) Left(kind Kind, cycle string) string {
	if kind.inLogs() {
		return filepath.Join(h.Logs(), logPrefix+cycle+string(kind))
	}
	return filepath.Join(h.Memory(), cycle+string(kind))
}

// parse says of a file's name of which cycle it is, and what.
func parse(name []byte) (id []byte, kind Kind, ok bool) {
	rest, logs := bytes.CutPrefix(name, []byte(logPrefix))
	if len(rest) < len(CycleForm) || !validCycle(rest[:len(CycleForm)]) {
		return nil, "", false
	}
	id, rest = rest[:len(CycleForm)], rest[len(CycleForm):]
	for _, kind := range []Kind{JournalFile, LogFile, BeforeFile, AfterFile, UnprovenFile, FullFile, LostFile, resetFile} {
		if string(rest) == string(kind) && logs == kind.inLogs() {
			return id, kind, true
		}
	}
	return nil, "", false
}

// CycleOf is the cycle that left a file of such a name, "" for none.
func CycleOf(name string) string {
	id, kind, ok := parse([]byte(name))
	if !ok || kind == resetFile {
		return ""
	}
	return string(id)
}

// CycleFiles gives all that cycles have left, in no order.
func (h Home) CycleFiles(visit func(cycle string, kind Kind)) error {
	for _, dir := range []string{h.Logs(), h.Memory()} {
		err := eachFile(dir, func(id []byte, kind Kind) {
			if kind != resetFile && kind.inLogs() == (dir == h.Logs()) {
				visit(string(id), kind)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachFile gives the files of a folder that are named after cycles. The id is
// valid during the call only.
func eachFile(dir string, visit func(id []byte, kind Kind)) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return eachName(d, func(name []byte) {
		if id, kind, ok := parse(name); ok {
			visit(id, kind)
		}
	})
}

// Cycles gives the ids of at most limit cycles, the newest first; 0 means all.
func (h Home) Cycles(limit int) ([]string, error) {
	if h.listed == nil || limit <= 0 || limit > listedCycles {
		return newest(h.Logs(), JournalFile, limit)
	}
	h.listed.once.Do(func() { h.listed.ids, h.listed.err = newest(h.Logs(), JournalFile, listedCycles) })
	return slices.Clone(h.listed.ids[:min(limit, len(h.listed.ids))]), h.listed.err
}

// listing is a list of the newest cycles, made when it is first asked for.
type listing struct {
	once sync.Once
	ids  []string
	err  error
}

// listedCycles is how many of them it has.
const listedCycles = 1000

// AtOnce is the home for one look at it: its cycles are listed once, among however
// many files, and those that begin meanwhile are not seen.
func (h Home) AtOnce() Home {
	h.listed = &listing{}
	return h
}

// Knows reports whether the home has a log or a snapshot of a cycle.
func (h Home) Knows(cycle string) bool {
	return disk.Exists(h.Journal(cycle)) || disk.Exists(h.Before(cycle)) || disk.Exists(h.After(cycle))
}

// Newest is the newest cycle that the home has any trace of, or "". Where there
// is no log, it is the newest snapshot, or the newest reset: that may have removed
// what was before it, but not what was kept under the names of those cycles.
func (h Home) Newest() (string, error) {
	ids, err := h.Cycles(1)
	for _, kind := range []Kind{BeforeFile, resetFile} {
		if err == nil && len(ids) == 0 {
			ids, err = newest(h.Memory(), kind, 1)
		}
	}
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// newest reads a folder once, without sorting or asking about its files, so that
// ten thousand old cycles cost little.
func newest(dir string, kind Kind, limit int) (ids []string, err error) {
	var least string // that counts, once there are enough
	err = eachFile(dir, func(id []byte, k Kind) {
		if k != kind || string(id) < least {
			return
		}
		ids = append(ids, string(id))
		if limit > 0 && len(ids) > limit+1000 {
			ids = topN(ids, limit)
			least = ids[limit-1]
		}
	})
	return topN(ids, limit), err
}

// ValidCycle says whether id has the form of a cycle's id.
func ValidCycle(id string) bool { return validCycle([]byte(id)) }

func validCycle(id []byte) bool {
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
