package agent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"rouse/agent/retention"
	"rouse/internal/disk"
	"rouse/internal/sweep"
	"rouse/tools"
)

// A year at */15 with a task a cycle stays below 1 GiB, and its cycles as quick as in
// its first days. The sample lives through a few days, of which it keeps one, and counts
// what a year would take that keeps thirty; a quick one leaves three of four cycles out.
func TestYear(t *testing.T) {
	perDay := sweep.Of(24, 96, 96)
	keep, days := sweep.Of(1, 1, 30), sweep.Of(3, 6, 365)
	r := newRig(t, "", oldState)
	store := &retention.Store{Home: r.home, Policy: retention.Policy{Keep: time.Duration(keep) * 24 * time.Hour, KeepFailed: 90 * 24 * time.Hour}, Now: func() time.Time { return r.now }}
	var took []time.Duration
	var size, used []int64
	for d := range days {
		before, was := cpu(t), allocated()
		for i := range perDay {
			r.now = begun.AddDate(0, 0, d).Add(24 * time.Hour / time.Duration(perDay) * time.Duration(i))
			a, _ := r.agent(unsynced{disk.OS{}}, day(i)...)
			a.NotesMax, a.CompletedMax, a.Notes, a.Retention = 16<<10, perDay+4, tools.NoteRequired, store
			a.Task = fmt.Sprintf("look at the log of hour %d", i)
			report, err := a.RunOnce(t.Context())
			if err != nil || report.Exit != 0 {
				t.Fatal(report, err)
			}
			r.age()
		}
		took, used, size = append(took, cpu(t)-before), append(used, allocated()-was), append(size, r.size())
	}
	last := len(size) - 1
	t.Logf("%d days: %d MiB at last; a cycle took %s of the processor on the second day, %s on the last", days, size[last]>>20, took[1]/time.Duration(perDay), took[last]/time.Duration(perDay))
	archive := r.bytes(r.home.Archive()) // which alone grows all year
	year := (size[last]-archive)*30/int64(keep) + archive*365/int64(days)
	if year *= 96 / int64(perDay); year > 1<<30 {
		t.Errorf("a year would take %d MiB", year>>20)
	}
	if used[last] > 2*used[1] || sweep.Full() && took[last] > 2*took[1] { // a busy machine takes twice as long, but no more memory
		t.Errorf("a day of cycles took %s and %d MiB at first, %s and %d MiB at last", took[1], used[1]>>20, took[last], used[last]>>20)
	}
	if n := len(r.active()); n > 32<<10 {
		t.Errorf("the memory has %d bytes", n)
	}
}

// age gives what a cycle has left the time that it is there, which retention reads.
func (r *rig) age() {
	r.t.Helper()
	newest, err := r.home.Newest()
	r.must(err)
	for _, path := range []string{r.home.Journal(newest), r.home.Log(newest), r.home.Before(newest), r.home.After(newest)} {
		r.must(os.Chtimes(path, r.now, r.now))
	}
}

// size is what the home takes on the disk, in blocks of 4 KiB.
func (r *rig) size() (n int64) {
	r.t.Helper()
	r.must(filepath.WalkDir(r.home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n += (r.bytes(path) + 4095) / 4096 * 4096
		}
		return err
	}))
	return n
}

func (r *rig) bytes(path string) int64 {
	info, err := os.Stat(path)
	r.must(err)
	return info.Size()
}

// allocated is how much memory the test has taken, and perhaps given back.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// cpu is what the test has used of the processor.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
