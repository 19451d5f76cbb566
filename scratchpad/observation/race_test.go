//go:build race

package observation

const raceEnabled = true
