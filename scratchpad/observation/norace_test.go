//go:build !race

package observation

const raceEnabled = false
