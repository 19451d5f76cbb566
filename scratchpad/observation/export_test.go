package observation

import "os"

// For the tests of package observation_test.
const RaceEnabled = raceEnabled

// Full says whether to try all there is, which takes a minute.
func Full() bool { return os.Getenv("ROUSE_SWEEP") == "full" }

// PutOddly stores data in pieces of odd sizes.
var PutOddly = tryPut
