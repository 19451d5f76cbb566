package observation

// For the tests of package observation_test.
const RaceEnabled = raceEnabled

// PutOddly stores data in pieces of odd sizes.
var PutOddly = tryPut
