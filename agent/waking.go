package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"rouse/agent/inbox"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/scratchpad"
)

// Waking is what a cycle and the schedule of its home tell each other.
type Waking struct {
	// Min and Max bound how long after its sleep a cycle may ask to be woken; a
	// Max of 0 allows it not at all.
	Min, Max time.Duration
	// Ask has the home woken at a time; the zero time takes that back.
	Ask func(time.Time) error
	// IdleSkip says that there are slots that cost no cycle where nothing is new,
	// and Watch what else can be new, as absolute paths of files and folders.
	IdleSkip bool
	Watch    []string
	// Results are the files that tasks of the schedule make for people.
	Results []Result
	// Attempt is which cycle of its slot this one is, 0 where no slot began it. Again
	// says whether the slot is tried again if the model has given no reply; nil is no.
	Attempt int
	Again   func() bool
}

// further is the attempt, 0 for the first.
func (w Waking) further() int {
	if w.Attempt < 2 {
		return 0
	}
	return w.Attempt
}

// wish hands on the wish of a cycle that is about to sleep. If it is killed after
// that, the wake that it asked for settles it.
func (a *Agent) wish(j *journal.Writer, after *time.Duration) {
	if after == nil || a.Waking.Ask == nil {
		return
	}
	var when time.Time
	if *after > 0 {
		when = a.now().Add(*after)
	}
	if err := a.Waking.Ask(when); err != nil {
		// A journal that cannot be written is reported when the end is.
		_ = j.Append(&journal.Warning{Text: "next_wake is not kept: " + err.Error()})
	}
}

// sights are the hashes of what a home looks at, by path.
type sights map[string]string

// idleRecord is what a cycle leaves that found nothing to do.
type idleRecord struct {
	Cycle string `json:"cycle"`
	Seen  sights `json:"seen"`
}

// Idle says that a wake would be in vain: the newest cycle found nothing to do,
// and the memory, the rules, the configuration and what is watched are as it left
// them.
func Idle(h home.Home, watch []string) bool {
	data, err := os.ReadFile(h.IdleRecord())
	var last idleRecord
	if err != nil || json.Unmarshal(data, &last) != nil {
		return false
	}
	newest, err := h.Newest()
	if err != nil || newest != last.Cycle || inbox.Waits(h.Inbox()) {
		return false
	}
	now := look(h, watch)
	now[h.Rel(h.Active())] = fingerprint(h.Active(), hashedBytes)
	return maps.Equal(now, last.Seen)
}

// rest keeps what the home looks like after a cycle that found nothing to do, if
// nothing has changed since it woke: what came meanwhile it may not have seen.
// Nothing is synced, as without this record the next slot is a cycle.
func (a *Agent) rest(w *woken, saw sights) {
	if !a.Waking.IdleSkip {
		return
	}
	saved, hash, err := a.Home.Load()
	seen := look(a.Home, a.Waking.Watch)
	if err != nil || !scratchpad.Equal(saved, w.state) || !maps.Equal(seen, saw) {
		return
	}
	seen[a.Home.Rel(a.Home.Active())] = hash
	text, err := json.Marshal(idleRecord{w.id, seen})
	if err != nil {
		return
	}
	// Half a record is none.
	_ = disk.Overwrite(a.disk(), a.Home.IdleRecord(), text, 0o600)
}

// hashedBytes is how much of the files of one path is hashed; of files beyond
// that, size and time tell whether they have changed.
const hashedBytes = 32 << 20

// look takes in what a home looks at beside its memory.
func look(h home.Home, watch []string) sights {
	s := sights{}
	for _, path := range append([]string{h.Rules(), h.Config()}, watch...) {
		s[h.Rel(path)] = fingerprint(path, hashedBytes)
	}
	return s
}

// fingerprint tells one version of a file, or of a folder with what is directly
// in it, from another.
func fingerprint(path string, left int64) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	sum := sha256.New()
	if !info.IsDir() {
		if version, ok := hashFile(path, info, sum, left); !ok {
			return version
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "unreadable"
	}
	for _, e := range entries {
		one := sha256.New()
		info, err := os.Stat(filepath.Join(path, e.Name()))
		version := "none"
		if err == nil {
			var ok bool
			if version, ok = hashFile(filepath.Join(path, e.Name()), info, one, left); ok {
				left -= info.Size()
			}
		}
		fmt.Fprintf(sum, "%q %s %x\n", e.Name(), version, one.Sum(nil))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// hashFile hashes a file that is regular and not too large, else it gives a
// version that does without.
func hashFile(path string, info os.FileInfo, sum io.Writer, left int64) (version string, ok bool) {
	if !info.Mode().IsRegular() {
		return info.Mode().Type().String(), false
	}
	if info.Size() <= left {
		if f, err := os.Open(path); err == nil {
			defer f.Close()
			if _, err := io.Copy(sum, f); err == nil {
				return "", true
			}
		}
	}
	return fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), false
}
