package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

// losses is the number of outcomes tried for each loss of power.
const losses = 10

// tally is what a sweep of losses of power found.
type tally struct{ points, outcomes, torn, lost int }

// sweepPower stops write at each operation, and also lets it finish; each time
// the power goes, in several ways.
func sweepPower(t *testing.T, before string, write writer) tally {
	t.Helper()
	var sum tally
	run := func(f *disktest.Faulty) {
		dir := freshDir(t, before)
		power, err := disktest.NewPowerLoss(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.FS = power
		err = write(f, filepath.Join(dir, "file"))
		if len(f.Fired()) == 0 && err != nil {
			t.Fatal(err)
		}
		sum.points++
		for _, got := range afterwards(t, power) {
			sum.outcomes++
			if got != before && got != newText {
				sum.torn++
			}
			if err == nil && got != newText {
				sum.lost++
			}
		}
	}
	disktest.Sweep(t, crashes, run)
	return sum
}

var crashes = []disktest.Fault{
	{Mode: disktest.CrashBefore}, {Mode: disktest.CrashHalf}, {Mode: disktest.CrashAfter},
}

func TestPowerLossAtEveryOperation(t *testing.T) {
	tests := []struct {
		name   string
		write  writer
		before string
	}{
		{"Replace", replace, oldText},
		{"Replace, new", replace, ""},
		{"Create", create, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum := sweepPower(t, tt.before, tt.write)
			if sum.torn > 0 || sum.lost > 0 {
				t.Errorf("torn %d, acknowledged and lost %d", sum.torn, sum.lost)
			}
			t.Logf("torn %d, acknowledged and lost %d / %d outcomes at %d points", sum.torn, sum.lost, sum.outcomes, sum.points)
		})
	}
}

// TestCarelessWriters proves that the model of a loss of power finds each thing
// that Replace could leave out.
func TestCarelessWriters(t *testing.T) {
	tests := []struct {
		name       string
		write      writer
		torn, lost bool
	}{
		{"in place", inPlace, true, false},
		{"no sync", func(f disk.FS, name string) error { return careless(f, name, false, true) }, true, true},
		{"no sync of the folder", func(f disk.FS, name string) error { return careless(f, name, true, false) }, false, true},
		{"careful", func(f disk.FS, name string) error { return careless(f, name, true, true) }, false, false},
	}
	for _, tt := range tests {
		sum := sweepPower(t, oldText, tt.write)
		if (sum.torn > 0) != tt.torn || (sum.lost > 0) != tt.lost {
			t.Errorf("%s: torn %d, acknowledged and lost %d", tt.name, sum.torn, sum.lost)
		}
		t.Logf("%s: torn %d, acknowledged and lost %d / %d outcomes", tt.name, sum.torn, sum.lost, sum.outcomes)
	}
}

// careless replaces a file, and leaves out what it is told to.
func careless(f disk.FS, name string, sync, syncDir bool) error {
	tmp := filepath.Join(filepath.Dir(name), ".file.00000000.tmp")
	w, err := f.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(newText))
	if sync {
		err = errors.Join(err, w.Sync())
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := f.Rename(tmp, name); err != nil || !syncDir {
		return err
	}
	return f.SyncDir(filepath.Dir(name))
}

// TestFailedSyncIsNotTrustedLater: the kernel marks pages clean that it could
// not write, so a second sync of the same file says nothing.
func TestFailedSyncIsNotTrustedLater(t *testing.T) {
	tests := []struct {
		name  string
		write writer
		lost  bool
	}{
		{"sync again", syncAgain, true},
		{"Replace again", replaceAgain, false},
	}
	for _, tt := range tests {
		lost, outcomes := 0, 0
		for _, before := range []string{"", oldText} {
			dir := freshDir(t, before)
			power, err := disktest.NewPowerLoss(dir)
			if err != nil {
				t.Fatal(err)
			}
			f := &disktest.Faulty{FS: power, Fault: disktest.Fault{At: 3, Err: syscall.EIO}}
			if err := tt.write(f, filepath.Join(dir, "file")); err != nil {
				t.Fatal(err)
			}
			if fired := f.Fired(); len(fired) != 1 || !strings.HasPrefix(fired[0], "sync ") {
				t.Fatalf("the fault met %q", fired)
			}
			want := read(t, filepath.Join(dir, "file"))
			for _, got := range afterwards(t, power) {
				outcomes++
				if got != want {
					lost++
				}
			}
		}
		if (lost > 0) != tt.lost {
			t.Errorf("%s: acknowledged and lost %d / %d outcomes", tt.name, lost, outcomes)
		}
		t.Logf("%s: acknowledged and lost %d / %d outcomes", tt.name, lost, outcomes)
	}
}

func replaceAgain(f disk.FS, name string) error {
	if replace(f, name) == nil {
		return nil
	}
	return replace(f, name)
}

func syncAgain(f disk.FS, name string) error {
	w, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write([]byte(newText)); err != nil {
		return err
	}
	if w.Sync() == nil {
		return nil
	}
	return w.Sync()
}

// afterwards is what "file" may hold after a loss of power.
func afterwards(t *testing.T, power *disktest.PowerLoss) []string {
	t.Helper()
	var list []string
	for seed := range uint64(losses) {
		dir := freshDir(t, "")
		if err := power.Crash(dir, seed); err != nil {
			t.Fatal(err)
		}
		disktest.CountTemps(t, dir) // fails for a stray file
		list = append(list, read(t, filepath.Join(dir, "file")))
	}
	return list
}
