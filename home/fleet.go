package home

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rouse/internal/disk"
)

// stays are the files that never leave their machine: what holds keys, what was made
// for this machine alone, and what is made anew where it is not there.
var stays = []string{".env", "vault.age", "vault.key", "logs/fleet.json", "logs/fleet.new", "logs/fleet.manifest", "logs/search.db", "logs/search.db-journal"}

// shared is the folder of what other homes of a fleet share with this one, which its worker lays.
const shared = "scratchpad/fleet"

// Shared is that folder.
func (h Home) Shared() string { return filepath.Join(h.Dir, shared) }

// Staying are the names of what never leaves the machine of a home, for people.
func Staying() []string { return append(slices.Clone(stays), shared, "notebooks/*/venv*") }

// Stays says of a path in the home, with slashes, that it never leaves the machine.
func (h Home) Stays(path string) bool {
	parts := strings.Split(path, "/")
	return slices.Contains(stays, path) || path == shared || strings.HasPrefix(path, shared+"/") || len(parts) == 3 && parts[0] == "notebooks" && strings.HasPrefix(parts[2], "venv")
}

// Moves says of a path in the home that the file there may change though no cycle
// wakes: it has the mark, or tells what people looked at or were refused.
func (h Home) Moves(path string) bool {
	path = strings.TrimSuffix(filepath.Join(h.Dir, path), Aside)
	return strings.HasPrefix(filepath.Base(path), h.Said()) || slices.Contains([]string{h.VersionFile(), h.DueLog(), h.Looked(), h.Told(), h.Machine()}, path)
}

// Pushed tells which home of which fleet this one is.
func (h Home) Pushed() string { return filepath.Join(h.Logs(), "fleet.json") }

// Seen is how a worker of a fleet last saw the home.
func (h Home) Seen() string { return filepath.Join(h.Logs(), "fleet.manifest") }

// Pushing is what is to become [Home.Pushed].
func (h Home) Pushing() string { return filepath.Join(h.Logs(), "fleet.new") }

// inFleet stands between the version of a home and its name in the fleet that wakes it
// instead of this machine. It is in the file that each wake reads anyway, and which
// programs that know no fleet refuse.
const inFleet = " fleet "

// Mark says in the home that a fleet wakes it, under a name; "" takes the mark away.
func (h Home) Mark(f disk.FS, name string) error {
	version, marked, err := h.stand()
	dir, base := filepath.Split(h.VersionFile())
	if err = cmp.Or(err, disk.Sweep(f, dir, base)); err != nil || marked == name {
		return err
	}
	text := strconv.Itoa(version) + "\n"
	if name != "" {
		text = strconv.Itoa(version) + inFleet + name + "\n"
	}
	perm := fs.FileMode(0o600)
	if info, err := os.Stat(h.VersionFile()); err == nil {
		perm = info.Mode().Perm()
	}
	return disk.Replace(f, h.VersionFile(), []byte(text), perm)
}

// Marked is the name under which a fleet has the home, "" for none.
func (h Home) Marked() string {
	_, name, _ := h.stand()
	return name
}

// Wakes refuses a home that was in a fleet when it was opened.
func (h Home) Wakes() error { return h.wakes(h.fleet) }

// WakingVersion is [Home.Version] for who is about to wake the home, which a fleet may have by now.
func (h Home) WakingVersion() (int, error) {
	version, name, err := h.stand()
	return version, cmp.Or(err, h.wakes(name))
}

func (h Home) wakes(name string) error {
	if name == "" {
		return nil
	}
	return &StateError{fmt.Sprintf("%s is in the fleet, as %s: nothing wakes or changes it here until it is back, by: rouse-fleet pull %s %s", h.Dir, name, name, h.Dir)}
}
