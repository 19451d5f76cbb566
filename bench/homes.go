package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// newHome makes a home as `rouse init` does.
func newHome(p programs, dir string) error {
	if out, err := exec.Command(p.path("rouse"), "init", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("rouse init: %w\n%s", err, out)
	}
	return nil
}

// renew takes a home back to before its first cycle, with state as its memory.
func renew(dir, state string) error {
	for _, pattern := range []string{"scratchpad/*_*.yaml", "logs/cycle_*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "scratchpad/active.yaml"), []byte(state), 0o600)
}

// age gives a home that has run one cycle n more, older ones: copies of its files,
// young enough that none is removed. They are counted at the next wake, as once a
// day they are.
func age(dir string, n int) error {
	journals, err := filepath.Glob(filepath.Join(dir, "logs/cycle_*.jsonl"))
	if err != nil || len(journals) != 1 {
		return fmt.Errorf("%s has %d cycles, not one (%v)", dir, len(journals), err)
	}
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(journals[0]), "cycle_"), ".jsonl")
	began, err := time.Parse("20060102_150405", id)
	if err != nil {
		return err
	}
	for i := range n {
		older := began.Add(-time.Duration(i+1) * 4 * time.Minute).Format("20060102_150405")
		if err := copyCycle(dir, id, older); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(dir, "logs/retention")); err != nil {
		return err
	}
	syscall.Sync() // or the first cycle's fsync would write them all
	return nil
}

func copyCycle(dir, id, to string) error {
	for _, form := range []string{"scratchpad/%s_before.yaml", "scratchpad/%s_after.yaml", "logs/cycle_%s.jsonl", "logs/cycle_%s.log"} {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(form, id)))
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte(id), []byte(to))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(form, to)), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
