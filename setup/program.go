package setup

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
)

// OtherProgram says how the rouse at path, which a crontab may call, differs from
// the one that runs; "" is for not at all, or none there. It is read, not run.
// Where both do not say what they were built from, older is false: they may differ
// by how they were built alone.
func OtherProgram(path string) (how string, older bool, err error) {
	theirs, err := buildInfo(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	ours, ok := debug.ReadBuildInfo()
	switch {
	case !ok || same(path):
		return "", false, nil
	case origin(ours) != origin(theirs):
		return fmt.Sprintf("it is of version %s, and this is %s", origin(theirs), origin(ours)), true, nil
	}
	return "it is another build than this one, of which no version is known", false, nil
}

// buildInfo reads what a program says of its build, as package debug/buildinfo does:
// that reads all formats of programs and would be a part of each start.
func buildInfo(path string) (*debug.BuildInfo, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const magic, header, inline, frame = "\xff Go buildinf:", 32, 2, 16
	for at := 0; ; at++ {
		next := bytes.Index(program[at:], []byte(magic))
		if next < 0 {
			return nil, fmt.Errorf("%s does not say what it was built from", path)
		}
		if at += next; at%frame != 0 || len(program) < at+header || program[at+len(magic)+1]&inline == 0 {
			continue
		}
		_, rest := sized(program[at+header:]) // the version of Go
		if modules, _ := sized(rest); len(modules) > 2*frame && modules[len(modules)-frame-1] == '\n' {
			return debug.ParseBuildInfo(string(modules[frame : len(modules)-frame]))
		}
	}
}

// sized cuts a text off that comes behind its length.
func sized(data []byte) (text, rest []byte) {
	n, width := binary.Uvarint(data)
	if width <= 0 || n > uint64(len(data)-width) {
		return nil, nil
	}
	return data[width:][:n], data[width:][n:]
}

// same says whether the program at path is the one that runs, byte for byte.
func same(path string) bool {
	self, err := os.Executable()
	ours, failed := digest(self)
	theirs, missing := digest(path)
	return cmp.Or(err, failed, missing) == nil && ours == theirs
}

func digest(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [sha256.Size]byte(h.Sum(nil)), err
}

// origin is what a build says of its sources.
func origin(b *debug.BuildInfo) string {
	text := b.Main.Version
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" && s.Value == "true" {
			text += " " + s.Key[len("vcs."):] + " " + s.Value
		}
	}
	return text
}
