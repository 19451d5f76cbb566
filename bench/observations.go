package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rouse/scratchpad/observation"
)

// Goals of observations.
const (
	maxPut     = 3.0  // of the time to write, hash and sync a file; compressed
	maxPutRaw  = 2.0  // the same with codec raw
	maxPutPeak = 32   // MiB
	maxRead    = 150  // µs for 2,000 characters
	maxVerb    = 15.0 // ms for `rouse observation read`
)

// searches are patterns to be compared with ripgrep; those that must hold some
// three bytes have nearer goals than those that need not. The words of the second
// are all over the content, but not in this order.
var searches = []struct {
	name, pattern string
	raw, zstd     float64 // goals
}{
	{"a text", "deadline closed id=77", 2.5, 5},
	{"a text that is not there", "context deadline exceeded", 2.5, 5},
	{"with a text inside", `func \(\w+ \*?\w+\) [A-Z]\w*Error\(`, 2.5, 5},
	{"classes", `\b\d{4}-\d{2}-\d{2}\b`, 8, 10},
	{"ignoring case", `(?i)todo.*fixme`, 8, 10},
}

// observations measures the store with contents of some sizes, such as 100MB,1GiB.
func observations(p programs, sizes string) error {
	var most int64
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := parseSize(text)
		if err != nil {
			return err
		}
		most = max(most, size)
		if err := (shelf{p, text, size, p.path("mixed")}).measure(); err != nil {
			return err
		}
	}
	return explorers(p.path("explored"), most)
}

func parseSize(text string) (int64, error) {
	for unit, n := range map[string]int64{"MB": 1e6, "MiB": 1 << 20, "GB": 1e9, "GiB": 1 << 30} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			v, err := strconv.ParseInt(number, 10, 64)
			if err == nil && v > 0 {
				return v * n, nil
			}
		}
	}
	return 0, fmt.Errorf("size %q: write it as 100MB or 1GiB", text)
}

// shelf measures one size.
type shelf struct {
	p    programs
	text string
	size int64
	file string // with the content
}

// runs is how often each command is run: large ones seldom.
func (s shelf) runs() int { return int(max(3, min(15, 1500<<20/s.size))) }

func (s shelf) measure() error {
	if err := writeMixed(s.file, s.size); err != nil {
		return err
	}
	fmt.Printf("\nobservations of %s: logs, JSON and source\n", s.text)
	for _, codec := range []observation.Codec{observation.Zstd, observation.Raw} {
		if err := s.codec(codec); err != nil {
			return err
		}
	}
	return nil
}

// codec measures putting, reading and searching, and removes the store.
func (s shelf) codec(codec observation.Codec) error {
	home := s.p.path("shelf")
	defer os.RemoveAll(home)
	if err := newHome(s.p, home); err != nil {
		return err
	}
	dir := filepath.Join(home, "scratchpad")
	if err := s.put(codec, dir); err != nil {
		return err
	}
	store, err := observation.Open(dir, observation.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := store.List(observation.Filter{})
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("%d observations were stored, not 1", len(list))
	}
	fmt.Printf("  %-34s %.3f of the content\n", "kept on disk", float64(list[0].Stored)/float64(list[0].Bytes))
	return errors.Join(s.reads(store, list[0]), s.verbs(home, list[0]), s.greps(store, list[0], codec))
}

// put compares storing with the plain program.
func (s shelf) put(codec observation.Codec, dir string) error {
	copied, goal := s.p.path("copy"), maxPut
	if codec == observation.Raw {
		goal = maxPutRaw
	}
	defer os.Remove(copied)
	fresh := func() error {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return os.MkdirAll(dir, 0o700)
	}
	costs, err := s.p.series(s.runs(),
		command{argv: []string{"observe", "put", string(codec), dir, s.file}, ready: fresh},
		command{argv: []string{"observe", "plain", copied, s.file}, ready: func() error { return os.RemoveAll(copied) }})
	if err != nil {
		return err
	}
	heading("codec "+string(codec), "put", "write, sha256, fsync")
	compare("wall, ms", costs, wall, goal)
	compare("CPU, ms", costs, cpu, 0)
	bounded(costs[0], maxPutPeak)
	return nil
}

// reads gets the entry and reads 2,000 characters anywhere in it.
func (s shelf) reads(store *observation.Store, e observation.Entry) error {
	const chars = 2000
	r := rand.New(rand.NewPCG(1, 1))
	var times []float64
	for range 2000 {
		at := r.Int64N(e.Runes - chars)
		begun := time.Now()
		c, err := store.Get(e.ID)
		if err != nil {
			return err
		}
		part, err := c.Slice(observation.Chars, at, at+chars, 1<<20)
		if err := errors.Join(err, c.Close()); err != nil || len(part.Data) < chars {
			return fmt.Errorf("read %d characters from %d: %d bytes, %w", chars, at, len(part.Data), err)
		}
		times = append(times, float64(time.Since(begun))/1e3)
	}
	p50 := median(times)
	fmt.Printf("  %-34s %-52s goal %d  %s\n", "2,000 characters anywhere, µs", spread(times), maxRead, verdict(p50 <= maxRead))
	return nil
}

// verbs runs `rouse observation` in the home.
func (s shelf) verbs(home string, e observation.Entry) error {
	read := []string{"rouse", "observation", "read", e.ID}
	half := strconv.FormatInt(e.Runes/2, 10)
	costs, err := s.p.series(20, command{argv: append(read, "--mode", "range", "--start", half), dir: home})
	if err != nil {
		return err
	}
	times := figures(costs[0], wall)
	fmt.Printf("  %-34s %-52s goal %g  %s\n", "rouse observation read, ms", spread(times), maxVerb, verdict(median(times) <= maxVerb))
	for _, args := range [][]string{{"--mode", "full"}, {"--mode", "grep", "--pattern", "deadline closed id=77"}, {"--mode", "grep", "--pattern", "(?i)deadline closed id=77"}} {
		k, err := s.p.run(command{argv: append(read, args...), dir: home})
		if err != nil {
			return err
		}
		fmt.Printf("  %-58s %8.1f MiB, %.0f ms\n", "peak of read "+strings.TrimPrefix(strings.Join(args, " "), "--mode "), peak(k), wall(k))
	}
	return nil
}

// greps compares searching with ripgrep on the plain file. Content.Grep gives the
// first lines that match, with their numbers, and how many match in all; the
// command that tells as much is `rg -n` into a pipe whose lines are counted.
// `rg -c` gives the total alone and so need not count the lines before a match:
// it is shown beside the other, and no goal hangs on it. ripgrep's time has the
// start of a process in it, 2 to 3 ms, ours has not.
func (s shelf) greps(store *observation.Store, e observation.Entry, codec observation.Codec) error {
	if _, err := exec.LookPath("rg"); err != nil {
		fmt.Println("  search is not measured: ripgrep is not installed (package ripgrep of Debian)")
		return nil
	}
	heading("search, wall in ms", "Content.Grep", "rg -n -a, read and counted")
	for _, q := range searches {
		goal := q.zstd
		if codec == observation.Raw {
			goal = q.raw
		}
		t, err := s.grep(store, e, q.pattern)
		if err != nil {
			return err
		}
		ratio := median(pairs(t.ours, t.numbers, divide))
		fmt.Printf("  %-34s %-26s %-26s ratio %.2f, goal %g  %s\n", q.name, spread(t.ours), spread(t.numbers), ratio, goal, verdict(ratio <= goal))
		fmt.Printf("  %-34s %-26s %-26s ratio %.2f; of the least %.2f and %.2f\n", "  rg -c -a, counted only", "", spread(t.counts),
			median(pairs(t.ours, t.counts, divide)), slices.Min(t.ours)/slices.Min(t.numbers), slices.Min(t.ours)/slices.Min(t.counts))
	}
	return nil
}

func divide(x, y float64) float64 { return x / y }

// times are those of one pattern in ms, run by run: of Content.Grep, of rg -n and
// of rg -c.
type times struct{ ours, numbers, counts []float64 }

// grep searches in turn, and wants all to find as much.
func (s shelf) grep(store *observation.Store, e observation.Entry, pattern string) (times, error) {
	var t times
	c, err := store.Get(e.ID)
	if err != nil {
		return t, err
	}
	defer c.Close()
	ways := []struct {
		times *[]float64
		count func() (int64, error)
	}{
		{&t.counts, func() (int64, error) { return s.ripgrepCount(pattern) }},
		{&t.numbers, func() (int64, error) { return s.ripgrepLines(pattern) }},
		{&t.ours, func() (int64, error) {
			found, err := c.Grep(context.Background(), observation.Query{Pattern: pattern})
			return found.Matches, err
		}},
	}
	for i := range s.runs() + warmUps {
		want := int64(-1)
		for _, w := range ways {
			begun := time.Now()
			n, err := w.count()
			took := float64(time.Since(begun)) / 1e6
			if err != nil || want >= 0 && n != want {
				return t, fmt.Errorf("%s: %d lines match, another way says %d: %w", pattern, n, want, err)
			}
			if want = n; i >= warmUps {
				*w.times = append(*w.times, took)
			}
		}
	}
	return t, nil
}

// ripgrepCount asks ripgrep how many lines match.
func (s shelf) ripgrepCount(pattern string) (int64, error) {
	out, err := exec.Command("rg", "-c", "-a", "--include-zero", pattern, s.file).Output()
	n, parseErr := strconv.ParseInt(string(bytes.TrimSpace(out)), 10, 64)
	if parseErr != nil {
		return 0, fmt.Errorf("run rg: %w", errors.Join(err, parseErr))
	}
	return n, nil
}

// ripgrepLines asks ripgrep for the lines that match with their numbers, and
// counts them as they come through a pipe.
func (s shelf) ripgrepLines(pattern string) (int64, error) {
	cmd := exec.Command("rg", "-n", "-a", pattern, s.file)
	var lines lineCounter
	cmd.Stdout = &lines
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 { // nothing matches
		err = nil
	}
	return int64(lines), err
}

type lineCounter int64

func (n *lineCounter) Write(p []byte) (int, error) {
	*n += lineCounter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}
