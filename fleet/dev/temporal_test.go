package dev

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestTemporal starts a server, kills it and starts it again: at the same port, with the same file.
func TestTemporal(t *testing.T) {
	dir := t.TempDir()
	first, err := StartTemporal(t.Context(), dir)
	if errors.Is(err, ErrNoTemporal) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer first.Stop()
	if _, err := StartTemporal(t.Context(), dir); err == nil {
		t.Error("two servers of one folder")
	}
	before, err := os.Stat(filepath.Join(dir, "temporal.db"))
	if err != nil {
		t.Fatal(err)
	}
	first.Kill()
	second, err := StartTemporal(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	after, err := os.Stat(filepath.Join(dir, "temporal.db"))
	if err != nil || !os.SameFile(before, after) || first.Address != second.Address {
		t.Error(err, first.Address, second.Address)
	}
}

// TestNoTemporal says what to do where there is neither the server nor a go command, and which
// program it was that is none.
func TestNoTemporal(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("ROUSE_FLEET_TEMPORAL", "")
	if _, err := StartTemporal(t.Context(), t.TempDir()); !errors.Is(err, ErrNoTemporal) {
		t.Error(err)
	}
	if err := BuildTemporal(t.Context(), func(string) {}); !errors.Is(err, ErrNoTemporal) {
		t.Error(err)
	}
	t.Setenv("ROUSE_FLEET_TEMPORAL", "/bin/false")
	if _, err := StartTemporal(t.Context(), t.TempDir()); err == nil || errors.Is(err, ErrNoTemporal) {
		t.Error(err)
	}
}
