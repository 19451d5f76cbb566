//go:build !linux

package install

// cronRuns cannot know whether a cron daemon runs.
func cronRuns() (running, known bool) { return false, false }
