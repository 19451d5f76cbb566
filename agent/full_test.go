package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"rouse/agent/notify"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
)

// A cycle that cannot sleep as the disk is full says so, with the mend, also to
// people, and the one that settles it knows it still.
func TestFullDisk(t *testing.T) {
	for when := range 5 { // 0: before it wakes
		r := newRig(t, t.TempDir(), oldState)
		r.wakeAgain("the first cycle")
		r.must(os.WriteFile(r.home.Active(), []byte(oldState), 0o600))
		r.now = r.now.Add(time.Minute)
		full := &disktest.Full{FS: disk.OS{}, Is: when == 0}
		a, m := r.agent(full, whole...)
		m.during = func(i int) { full.Is = i+1 >= when }
		told := t.TempDir() + "/told"
		a.Notify = &notify.Notifier{
			Path: r.home.Told(), Home: r.home.Dir, Sinks: []notify.Sink{{Command: []string{"sh", "-c", "cat >>" + told}}},
			Runner: &proc.Runner{}, Disk: full, Once: notify.Once{Dirs: []string{r.home.Logs()}, Name: r.home.Said()},
		}
		_, err := a.RunOnce(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "the disk is full: free space on that of "+r.home.Dir) {
			t.Fatalf("%d: %v", when, err)
		}
		if got := r.read(told); strings.Count(got, "the disk is full: free") != 1 {
			t.Errorf("%d: told %q", when, got)
		}
		full.Is = false
		ids := r.cycles()
		r.wakeAgain("after a full disk")
		r.checkSettled("after a full disk")
		list, err := Summaries(r.home, 2)
		r.must(err)
		if len(ids) != 2 || !strings.Contains(list[1].Error, "as the disk was full") {
			t.Errorf("%d: %q, settled: %+v", when, ids, list[1])
		}
		if disk.Exists(r.home.Left(".full", ids[1])) {
			t.Error("the word of it stays")
		}
	}
}
