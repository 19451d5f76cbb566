package main

// maxReplay is what a cycle may cost that is run again, of what it cost itself.
const maxReplay = 1.0

// replayCost compares a cycle that is run again with the cycle.
func replayCost(p programs, n int) error {
	recorded, home := p.path("recorded"), p.path("recording")
	for _, dir := range []string{recorded, home} {
		if err := newHome(p, dir); err != nil {
			return err
		}
	}
	if _, err := p.run(calling(recorded, "date -u", 0)); err != nil {
		return err
	}
	costs, err := p.series(n, command{argv: []string{"rouse", "replay"}, dir: recorded}, calling(home, "date -u", n))
	if err != nil {
		return err
	}
	heading("replay of a cycle with one call", "rouse replay", "rouse run")
	compare("wall, ms", costs, wall, maxReplay)
	compare("CPU, ms", costs, cpu, maxReplay)
	bounded(costs[0], maxPeak)
	return nil
}
