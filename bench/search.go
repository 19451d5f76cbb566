package main

import "fmt"

// maxSearch is what a search among all old cycles may take, once it has an index, in ms
// of CPU time: all of it is reading.
const maxSearch = 50

// searching measures searches for what all of many old cycles have, beside the same in
// a home with one; and the first one, which reads them all.
func searching(p programs, n int) error {
	young, aged := p.path("few"), p.path("many")
	for _, dir := range []string{young, aged} {
		if err := newHome(p, dir); err != nil {
			return err
		}
		if _, err := p.run(calling(dir, "date -u", 0)); err != nil {
			return err
		}
	}
	if err := age(aged, old); err != nil {
		return err
	}
	first, err := p.run(command{argv: []string{"rouse", "search", "date"}, dir: aged})
	if err != nil {
		return err
	}
	heading(fmt.Sprintf("search of %d old cycles, CPU in ms", old), "aged home", "new home")
	for _, query := range []string{"date", "tell time"} {
		costs, err := p.series(n, command{argv: []string{"rouse", "search", query}, dir: aged}, command{argv: []string{"rouse", "search", query}, dir: young})
		if err != nil {
			return err
		}
		all := figures(costs[0], cpu)
		fmt.Printf("  %-34s %-26s %-26s goal %d  %s\n", query, spread(all), spread(figures(costs[1], cpu)), maxSearch, verdict(median(all) <= maxSearch))
	}
	fmt.Printf("  %-34s %.0f\n", "the first, without an index", cpu(first))
	return nil
}
