package disktest

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// A quick sweep leaves operations out, but none in all faults and no fault; a wide one every other,
// and a full one none.
func TestSweep(t *testing.T) {
	const ops = 30
	none := filepath.Join(t.TempDir(), "none")
	counts := map[string]int{"": 2 * len(Faults()), "wide": ops / 2 * len(Faults()), "full": ops * len(Faults())}
	for env, most := range counts {
		t.Setenv("ROUSE_SWEEP", env)
		met, kinds := map[int]bool{}, map[string]int{}
		n := Sweep(t, Faults(), func(f *Faulty) {
			for range ops {
				_ = f.Remove(none)
			}
			if at := f.Fault.At; at <= ops {
				met[at] = true
				f.Fault.At = 0
				kinds[f.Fault.String()]++
			}
		})
		if len(met) != ops || len(kinds) != len(Faults()) || n > most || env != "" && n != most || slices.Min(slices.Collect(maps.Values(kinds))) < 2 {
			t.Errorf("%q: %d points, at %d of %d operations, of %v", env, n, len(met), ops, kinds)
		}
	}
}
