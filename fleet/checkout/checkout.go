// Package checkout takes a home from a machine into a fleet and back, whole: bytes, modes,
// times, links and empty folders, but for what never leaves a machine ([home.Home.Stays]).
//
// Who has a home is decided in the store alone: a machine has it under a lease without a
// deadline, which [Push] ends with its commit and [Pull] takes. Before a commit the home is
// marked, so that nothing wakes it here and there; a pull puts a whole folder in the place
// of the other at once. So whatever is killed leaves the old or the new, and is done again.
package checkout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"rouse/agent/history"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/text"
)

// Report is what a push or a pull came to.
type Report struct {
	Name    string   `json:"name"`
	Dir     string   `json:"dir"`
	Version int      `json:"version"`
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"` // of all files
	Sent    int64    `json:"sent"`  // bytes that went to the store, compressed
	Here    bool     `json:"here"`  // nothing was pulled: the home was here
	Left    []string `json:"left,omitempty"`
	// Unscheduled is a pushed home that nothing but an order wakes.
	Unscheduled bool `json:"unscheduled,omitempty"`
}

// record says in a home which one of which fleet it is, and under which epoch this machine
// has it or had it.
type record struct {
	Fleet string `json:"fleet"`
	Name  string `json:"name"`
	Epoch int64  `json:"epoch"`

	Version int    `json:"version,omitempty"` // that a worker's folder is, but for its stage
	Stage   string `json:"stage,omitempty"`
}

func recordOf(h home.Home) (r record) {
	if data, err := disk.ReadSmall(h.Pushed(), 1<<16); err == nil {
		_ = json.Unmarshal(data, &r)
	}
	return r
}

func (r record) write(h home.Home) error {
	data, err := json.Marshal(r)
	return cmp.Or(err, disk.Sweep(disk.OS{}, h.Logs(), filepath.Base(h.Pushed())), disk.Replace(disk.OS{}, h.Pushed(), append(data, '\n'), 0o600))
}

// holder is this machine as who has a home.
func holder(dir string) string {
	machine, _ := os.Hostname()
	return machine + ":" + dir
}

// look is how a home is, read anew where it is not as in a version.
func look(h home.Home, was *history.Version) (*history.Version, error) {
	s := &history.Store{Of: "home", MaxFile: math.MaxInt64, Skip: h.Stays}
	return s.LookSince(h.Dir, was)
}

// count adds the files of a version to the report; what cannot be taken along is an error
// but for what has no content anywhere.
func (r *Report) count(v *history.Version) (err error) {
	r.Files, r.Bytes, r.Left = 0, 0, nil
	for e := range v.All() {
		switch {
		case e.Kind == history.File:
			r.Files, r.Bytes = r.Files+1, r.Bytes+e.Size
		case e.Kind == history.Out:
			r.Left = append(r.Left, fmt.Sprintf("%s (%s)", e.Path, e.Is))
			if !slices.Contains([]string{"a socket", "a FIFO", "a device"}, e.Is) {
				err = fmt.Errorf("%s cannot be taken along: %s", text.Quoted(e.Path), e.Is)
			}
		}
	}
	return err
}

// changed names what differs in two versions, up to five.
func changed(a, b *history.Version, but func(history.Change) bool) string {
	list := slices.DeleteFunc(history.Diff(a, b), func(c history.Change) bool { return but != nil && but(c) })
	if len(list) == 0 {
		return ""
	}
	names := text.Join(list[:min(5, len(list))], ", ", func(c history.Change) string { return text.Quoted(c.Path) })
	return fmt.Sprintf("%s: %s", text.Count(len(list), "file"), names)
}

// Inside refuses a home of which a part is elsewhere.
func Inside(h home.Home, workspace string) error {
	for _, dir := range []string{h.Memory(), h.Logs(), workspace} {
		if rel, err := filepath.Rel(home.Resolved(h.Dir), home.Resolved(dir)); err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s is outside of the home, and only what is in it goes into a fleet: move it in", dir)
		}
	}
	return nil
}

// VersionOf reads the newest version of a home, or the newest of an epoch, and its number.
func VersionOf(ctx context.Context, s *store.Store, id, epoch int64) (*history.Version, int, error) {
	manifest, version, err := s.Manifest(ctx, id, epoch)
	if err != nil {
		return nil, 0, err
	}
	v, err := history.Parse(manifest)
	if err != nil {
		err = fmt.Errorf("version %d: %w", version, err)
	}
	return v, version, err
}

// Put makes changes in a folder, with contents of the store, where they fit onto its disk.
func Put(ctx context.Context, s *store.Store, dir string, plan []history.Change) error {
	if err := room(dir, plan); err != nil {
		return err
	}
	from := history.Store{From: func(e history.Entry) (io.Reader, error) { return s.Content(ctx, e.Is) }}
	return from.Put(dir, plan)
}

// room says whether what is to be put into a folder fits onto its disk, and leaves others a
// twentieth of that: what came as a few bytes may be a file of a terabyte of zeros.
func room(dir string, put []history.Change) error {
	var on unix.Statfs_t
	if err := unix.Statfs(dir, &on); err != nil {
		return err
	}
	block := int64(on.Bsize)
	free, need := max(0, int64(on.Bavail)-int64(on.Blocks)/20)*block, int64(0)
	for _, c := range put {
		if c.Is != nil && c.Is.Kind == history.File {
			need = min(need+c.Is.Size+block, math.MaxInt64/2)
		}
	}
	if need <= free {
		return nil
	}
	return fmt.Errorf("%d bytes are to be written, and there is room for %d: %w", need, free, unix.ENOSPC)
}
