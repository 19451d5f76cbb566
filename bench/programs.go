package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs is a folder of programs, each built as a release is.
type programs struct{ dir string }

// build makes the programs in dir. It must run inside the module.
func build(dir string) (programs, error) {
	p := programs{dir}
	for name, pkg := range map[string]string{
		"rouse": "rouse/cmd/rouse", "bare": "rouse/bench/bare", "hello": "rouse/bench/hello", "measure": "rouse/bench/measure",
		"observe": "rouse/bench/observe",
	} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.path(name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return p, nil
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// size is the size of a program in bytes, and whether it needs no loader.
func (p programs) size(name string) (bytes int64, static bool, err error) {
	info, err := os.Stat(p.path(name))
	if err != nil {
		return 0, false, err
	}
	f, err := elf.Open(p.path(name))
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	static = true
	for _, part := range f.Progs {
		static = static && part.Type != elf.PT_INTERP
	}
	return info.Size(), static, nil
}
