// Package sweep says how much of a sweep is tried: by a test that fails, kills or
// cuts at each of many points, or throws dice.
package sweep

import "os"

// Of is sample for a test that is to be quick, wide where $ROUSE_SWEEP is "wide",
// as .ci/run sets it, and all where it is "full".
func Of[T any](sample, wide, all T) T {
	switch os.Getenv("ROUSE_SWEEP") {
	case "full":
		return all
	case "wide":
		return wide
	}
	return sample
}

// Full says whether nothing is to be left out.
func Full() bool { return Of(false, false, true) }
