// Package pause lets a home rest: because a person said so, with the file STOP in
// it, or because its cycles fail again and again for the same cause.
package pause

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rouse/internal/disk"
)

// maxReason is how much of the reason is read, in bytes.
const maxReason = 500

// Paused says whether a home is stopped by the file, and why: its first line is the
// reason. Where it is not, this costs one stat; so it may be asked before every step.
func Paused(file string) (reason string, ok bool) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err == nil && info.Mode().IsRegular() {
		reason = firstLine(file)
	}
	return cmp.Or(reason, fmt.Sprintf("the file %s is there", filepath.Base(file))), true
}

func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReason))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(strings.ToValidUTF8(line, "\uFFFD"))
}

// Pause stops a home; one that is stopped already stays so for the reason that it
// has, and the result is false.
func Pause(f disk.FS, file, reason string) (bool, error) {
	reason, _, _ = strings.Cut(reason, "\n")
	err := disk.Create(f, file, []byte(reason+"\n"), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	return true, nil
}

// Resume ends a pause; the result is false where there was none.
func Resume(f disk.FS, file string) (bool, error) {
	err := f.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = f.SyncDir(filepath.Dir(file))
	}
	if err != nil {
		return false, fmt.Errorf("resume: %w", err)
	}
	return true, nil
}
