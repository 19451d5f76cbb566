package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
)

// grow makes versions of files that change, as long as the disk goes along.
func (r *rig) grow(versions int) (err error) {
	for i := range versions {
		r.files(map[string]string{"always": "the same", "one": strings.Repeat(fmt.Sprint(i), 3000), fmt.Sprint("file", i): fmt.Sprint(i)})
		if _, err = r.Take(r.root, r.id(i+1)); err != nil {
			return err
		}
	}
	return nil
}

// whole wants that all versions can be read with all that they name.
func (r *rig) whole(context string) (ids []string) {
	r.Helper()
	ids, err := r.Versions()
	r.must(err)
	for _, id := range ids {
		v, err := r.Read(id)
		if err != nil {
			r.Fatalf("%s: %v", context, err)
		}
		for e := range v.All() {
			if e.Kind == File {
				r.text(v, e.Path)
			}
		}
	}
	return ids
}

// Where versions take too much the oldest go, and with them what they alone named.
func TestOldestGo(t *testing.T) {
	r := newRig(t)
	r.MaxBytes = 48 << 10
	r.must(r.grow(40))
	ids := r.whole("grown")
	bytes, err := r.Bytes()
	r.must(err)
	if bytes > r.MaxBytes || len(ids) < 3 || len(ids) > 39 || ids[len(ids)-1] != r.id(40) {
		t.Errorf("%d bytes in %d versions", bytes, len(ids))
	}
	if _, head, ok := r.head(); !ok || head > r.MaxBytes {
		t.Errorf("they are counted as %d bytes", head)
	}
	if _, err := r.At(r.id(1)); err == nil || !strings.Contains(err.Error(), "no version of the files from then") {
		t.Error(err)
	}
	r.must(r.Drop("20260401_150138"))
	if ids = r.whole("dropped"); len(ids) != 3 {
		t.Errorf("%q", ids)
	}
	r.must(r.Drop("9"))
	if ids = r.whole("all dropped"); len(ids) != 1 {
		t.Errorf("the newest is never dropped: %q", ids)
	}
	r.MaxBytes = 100
	r.must(os.WriteFile(r.manifest(r.id(41)), []byte("damaged"), 0o600))
	r.must(os.Remove(filepath.Join(r.Dir, headName)))
	r.must(r.shrink())
	if ids, err := r.Versions(); err != nil || len(ids) != 2 {
		t.Errorf("the newest good one stays: %q, %v", ids, err)
	}
}

// Every write may fail, or the process or the power go: then there are the versions that
// were acknowledged, whole, and the next goes on.
func TestEveryFault(t *testing.T) {
	points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		r := newRig(t)
		defer os.RemoveAll(filepath.Dir(r.root))
		logs := filepath.Dir(r.Dir)
		power, err := disktest.NewPowerLoss(logs)
		r.must(err)
		f.FS, r.Disk, r.MaxBytes = power, f, 5000
		acknowledged := r.grow(6) == nil
		for seed := range uint64(disktest.Outcomes + 2) {
			left, context := *r, fmt.Sprintf("%v at %q, seed %d", f.Fault, f.Fired(), seed)
			left.Dir = filepath.Join(fmt.Sprint(logs, seed), "history")
			r.must(os.Mkdir(filepath.Dir(left.Dir), 0o700))
			r.must(power.Crash(filepath.Dir(left.Dir), seed))
			left.Disk = nil
			left.goesOn(context, acknowledged)
		}
	})
	t.Logf("versions lost 0, torn 0 / %d faults", points)
}

// faults are all kinds of fault, or where a sweep is wide, all crashes and some errors.
func faults() []disktest.Fault {
	return sweep.Of(disktest.Faults(), disktest.Faults()[:5], disktest.Faults())
}

// goesOn wants that the versions are whole, and that there can be another.
func (r *rig) goesOn(context string, acknowledged bool) {
	r.Helper()
	ids := r.whole(context)
	if acknowledged && (len(ids) == 0 || ids[len(ids)-1] != r.id(6)) {
		r.Fatalf("%s: acknowledged, and lost: %q", context, ids)
	}
	r.files(map[string]string{"after": context})
	got, err := r.Take(r.root, r.id(7))
	r.must(err)
	r.must(r.Drop(CycleOf(r.id(7))))
	if ids := r.whole(context); len(ids) != 1 || r.text(got.Version, "after") != context {
		r.Fatalf("%s: %q", context, ids)
	}
	if packs := r.allPacks(); len(packs) > len(got.Version.packs()) {
		r.Fatalf("%s: the packs %q are left", context, packs)
	}
}
