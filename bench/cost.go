package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// cost is what one run of a program cost, its children included.
type cost struct {
	Wall time.Duration `json:"wall"`
	CPU  time.Duration `json:"cpu"`  // user and system
	Peak int64         `json:"peak"` // resident memory in KiB, of the largest process
}

// command is a program to be measured.
type command struct {
	argv  []string
	dir   string
	env   []string     // beside PATH
	ready func() error // makes everything as it was before the first run
}

// run measures one run.
func (p programs) run(c command) (cost, error) {
	if c.ready != nil {
		if err := c.ready(); err != nil {
			return cost{}, err
		}
	}
	cmd := exec.Command(p.path("measure"), append([]string{p.path(c.argv[0])}, c.argv[1:]...)...)
	cmd.Dir, cmd.Stderr = c.dir, os.Stderr
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.env...)
	out, err := cmd.Output()
	if err != nil {
		return cost{}, fmt.Errorf("run %v: %w", c.argv, err)
	}
	var k cost
	return k, json.Unmarshal(out, &k)
}

// warmUps are runs that are not counted.
const warmUps = 3

// series is what each of several commands cost, run in turn so that whatever
// else the machine does falls on all of them.
func (p programs) series(n int, commands ...command) ([][]cost, error) {
	all := make([][]cost, len(commands))
	for i := range n + warmUps {
		for j, c := range commands {
			k, err := p.run(c)
			if err != nil {
				return nil, err
			}
			if i >= warmUps {
				all[j] = append(all[j], k)
			}
		}
	}
	return all, nil
}

func wall(k cost) float64 { return float64(k.Wall) / 1e6 }
func cpu(k cost) float64  { return float64(k.CPU) / 1e6 }
func peak(k cost) float64 { return float64(k.Peak) / 1024 }

// figures are one side of the costs: milliseconds, or MiB.
func figures(costs []cost, of func(cost) float64) []float64 {
	var list []float64
	for _, k := range costs {
		list = append(list, of(k))
	}
	return list
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// pairs compares run by run: a[i] with b[i].
func pairs(a, b []float64, compare func(x, y float64) float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = compare(a[i], b[i])
	}
	return list
}
