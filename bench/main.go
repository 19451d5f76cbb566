// Command bench measures what Rouse costs on this machine: a whole cycle beside
// a bare Go program that does the same work, what ten thousand old cycles add,
// the start of the program, and its size; or what it costs to keep, read and
// search large observations; or what the requests of long cycles cost. README.md says how.
//
//	go run ./bench [-n RUNS] [-dir FOLDER]
//	go run ./bench -observations 100MB,1GiB [-dir FOLDER]
//	go run ./bench -conversation
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	n := flag.Int("n", 40, "how many `runs` of each command are counted")
	dir := flag.String("dir", "", "the `folder` for homes (default: the system's for temporary files)")
	sizes := flag.String("observations", "", "measure observations of these `sizes` instead, such as 100MB,1GiB")
	talk := flag.Bool("conversation", false, "measure long conversations instead")
	flag.Parse()
	parts := []func(programs, int) error{binary, firstRequest, start, coldCycle, walls, watched, historyCost, replayCost, oldCycles, searching}
	if *sizes != "" {
		parts = []func(programs, int) error{func(p programs, _ int) error { return observations(p, *sizes) }}
	}
	if *talk {
		parts = []func(programs, int) error{conversations}
	}
	if err := bench(*n, *dir, parts); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// bench prints each figure as soon as it has it.
func bench(n int, dir string, parts []func(programs, int) error) error {
	work, err := os.MkdirTemp(dir, "rouse-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Printf("%s, %s/%s, %d cores, at most %d runs of each command, homes in %s\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), n, filepath.Dir(work))
	p, err := build(work)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := part(p, n); err != nil {
			return err
		}
	}
	return nil
}
