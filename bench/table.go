package main

import (
	"fmt"
	"slices"
)

func heading(title, a, b string) {
	fmt.Printf("\n%-36s %-26s %-26s %s\n", title, a, b, "median (least to most)")
}

// compare prints one figure of two commands and the median of the ratios, run
// by run; goal 0 is none.
func compare(name string, costs [][]cost, of func(cost) float64, goal float64) {
	a, b := figures(costs[0], of), figures(costs[1], of)
	ratio := median(pairs(a, b, divide))
	fmt.Printf("  %-34s %-26s %-26s ratio %.2f", name, spread(a), spread(b), ratio)
	if goal > 0 {
		fmt.Printf(", goal %g  %s", goal, verdict(ratio <= goal))
	}
	fmt.Println()
}

// adds prints the wall time of two commands and the median of what the first one
// adds, run by run.
func adds(name string, costs [][]cost, goal float64) {
	a, b := figures(costs[0], wall), figures(costs[1], wall)
	more := median(pairs(a, b, func(x, y float64) float64 { return x - y }))
	fmt.Printf("  %-34s %-26s %-26s %+.2f, goal %g  %s\n", name, spread(a), spread(b), more, goal, verdict(more <= goal))
}

// bounded prints the peak memory of a command, of which the median has a goal.
func bounded(costs []cost, goal float64) {
	most := median(figures(costs, peak))
	fmt.Printf("  %-34s %8.1f MiB       goal %g  %s\n", "peak memory, median", most, goal, verdict(most <= goal))
}

func spread(list []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(list), slices.Min(list), slices.Max(list))
}

func verdict(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}
