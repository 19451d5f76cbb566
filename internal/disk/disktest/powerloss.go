package disktest

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rouse/internal/disk"
)

// PowerLoss is a [disk.FS] over a real folder that knows what of it would
// survive a loss of power. The strictest reading of POSIX holds: data is durable
// once Sync of its file returned, a name once SyncDir of its folder did.
// Everything else may be lost or kept, each name and each file by itself, so
// also a rename without the data behind it. Of data, a part may be kept.
//
// Nothing is synced for real, so that it is quick. Symbolic links and renames of
// folders are not modelled.
type PowerLoss struct {
	root string

	mu      sync.Mutex
	live    map[string]*inode // by path below root
	durable map[string]*inode
	pending []change // of names, in order
}

// inode is a file or a folder, whatever its names.
type inode struct {
	perm    fs.FileMode
	dir     bool
	data    []byte // as it is
	durable []byte // as Sync left it
	spoilt  int    // data[:spoilt] that is not in durable never will be
}

// change is a change of names that happens wholly or not at all: from, if any,
// loses its name, and to, if any, becomes one of node.
type change struct {
	from, to string
	node     *inode
}

// NewPowerLoss takes what is in the folder root for durable. From then on only
// it may change things there.
func NewPowerLoss(root string) (*PowerLoss, error) {
	p := &PowerLoss{root: root, live: make(map[string]*inode), durable: make(map[string]*inode)}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		node := &inode{perm: info.Mode().Perm(), dir: d.IsDir()}
		if !d.IsDir() {
			if node.data, err = os.ReadFile(path); err != nil {
				return err
			}
			node.durable = bytes.Clone(node.data)
		}
		p.live[p.key(path)], p.durable[p.key(path)] = node, node
		return nil
	})
	return p, err
}

// key is the path below root.
func (p *PowerLoss) key(path string) string {
	rel, err := filepath.Rel(p.root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		panic("disktest: " + path + " is outside " + p.root)
	}
	return rel
}

// change takes note of a change of names that was made.
func (p *PowerLoss) change(c change) {
	delete(p.live, c.from)
	if c.to != "" {
		p.live[c.to] = c.node
	}
	p.pending = append(p.pending, c)
}

// OpenFile opens the real file.
func (p *PowerLoss) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	key := p.key(name)
	node := p.live[key]
	if node == nil {
		node = &inode{perm: perm}
		p.change(change{to: key, node: node})
	}
	if flag&os.O_TRUNC != 0 {
		node.data, node.spoilt = nil, 0
	}
	return &powerFile{p: p, File: file, node: node, appends: flag&os.O_APPEND != 0}, nil
}

// Rename renames the real file.
func (p *PowerLoss) Rename(oldname, newname string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	node := p.live[p.key(oldname)]
	if node != nil && node.dir {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: errors.ErrUnsupported}
	}
	if err := os.Rename(oldname, newname); err != nil {
		return err
	}
	p.change(change{p.key(oldname), p.key(newname), node})
	return nil
}

// Link links the real file.
func (p *PowerLoss) Link(oldname, newname string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.Link(oldname, newname); err != nil {
		return err
	}
	p.change(change{to: p.key(newname), node: p.live[p.key(oldname)]})
	return nil
}

// Remove removes the real file.
func (p *PowerLoss) Remove(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.Remove(name); err != nil {
		return err
	}
	p.change(change{from: p.key(name)})
	return nil
}

// MkdirAll makes the real folders.
func (p *PowerLoss) MkdirAll(name string, perm fs.FileMode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(name, perm); err != nil {
		return err
	}
	p.made(p.key(name), perm)
	return nil
}

func (p *PowerLoss) made(key string, perm fs.FileMode) {
	if p.live[key] != nil {
		return
	}
	p.made(filepath.Dir(key), perm)
	p.change(change{to: key, node: &inode{perm: perm, dir: true}})
}

// SyncDir makes the names of a folder durable; a rename from one folder to
// another, with either of them.
func (p *PowerLoss) SyncDir(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := os.ReadDir(name); err != nil {
		return err
	}
	dir := p.key(name)
	var rest []change
	for _, c := range p.pending {
		if c.from != "" && filepath.Dir(c.from) == dir || c.to != "" && filepath.Dir(c.to) == dir {
			c.apply(p.durable)
		} else {
			rest = append(rest, c)
		}
	}
	p.pending = rest
	return nil
}

func (c change) apply(names map[string]*inode) {
	delete(names, c.from)
	if c.to != "" {
		names[c.to] = c.node
	}
}

type powerFile struct {
	*os.File
	p       *PowerLoss
	node    *inode
	offset  int
	appends bool
}

func (f *powerFile) Write(b []byte) (int, error) {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	n, err := f.File.Write(b)
	if f.appends {
		f.offset = len(f.node.data)
	}
	end := f.offset + n
	if end > len(f.node.data) {
		f.node.data = append(f.node.data, make([]byte, end-len(f.node.data))...)
	}
	copy(f.node.data[f.offset:], b[:n])
	if end >= f.node.spoilt { // written once more: dirty again
		f.node.spoilt = min(f.node.spoilt, f.offset)
	}
	f.offset = end
	return n, err
}

// Sync makes the data durable, but for what an earlier Sync failed to write:
// the kernel holds that for clean.
func (f *powerFile) Sync() error {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	data := bytes.Clone(f.node.data)
	for i := range min(f.node.spoilt, len(data)) {
		if i >= len(f.node.durable) || f.node.durable[i] != data[i] {
			data[i] = 0
		}
	}
	f.node.durable = data
	return nil
}

// spoil is a Sync that failed.
func (f *powerFile) spoil() {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	f.node.spoilt = len(f.node.data)
}

// Outcomes is the number of outcomes of a loss of power that differ on purpose;
// [PowerLoss.Crash] takes any number as a seed, and rolls dice from here on.
const Outcomes = 4

// Crash writes to dir, a folder that must be empty, what a loss of power at this
// moment might leave. Seed 0: nothing but what is durable; 1: all names, and of
// data only what is durable; 2: all data, and of names only those; 3: everything.
// Any other seed chooses for each name and each file.
func (p *PowerLoss) Crash(dir string, seed uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	rnd := rand.New(rand.NewPCG(seed, 0))
	names := maps.Clone(p.durable)
	for _, c := range p.pending {
		if seed < Outcomes && seed&1 != 0 || seed >= Outcomes && rnd.IntN(2) == 0 {
			c.apply(names)
		}
	}
	return survive(dir, names, func(node *inode) []byte {
		switch {
		case seed >= Outcomes:
			return node.some(rnd)
		case seed&2 != 0:
			return node.data
		}
		return node.durable
	})
}

// some is a possible state of a file's data: as at the last Sync, or as it is
// now as far as it got, the rest missing or zero.
func (n *inode) some(rnd *rand.Rand) []byte {
	same := 0
	for same < min(len(n.data), len(n.durable)) && n.data[same] == n.durable[same] {
		same++
	}
	kept := n.data[:same+rnd.IntN(len(n.data)-same+1)]
	switch rnd.IntN(3) {
	case 0:
		return n.durable
	case 1:
		return kept
	}
	return append(bytes.Clone(kept), make([]byte, len(n.data)-len(kept))...)
}

// survive writes the files and folders of names to dir. What stands in a folder
// that is not there is lost with it. A file's data is chosen once, for all its
// names.
func survive(dir string, names map[string]*inode, data func(*inode) []byte) error {
	chosen := make(map[*inode][]byte)
	for _, key := range slices.Sorted(maps.Keys(names)) {
		node := names[key]
		path := filepath.Join(dir, key)
		switch {
		case key == ".":
			continue
		case names[filepath.Dir(key)] == nil:
			delete(names, key)
			continue
		case node.dir:
			if err := os.Mkdir(path, node.perm); err != nil {
				return err
			}
			continue
		}
		if _, ok := chosen[node]; !ok {
			chosen[node] = data(node)
		}
		if err := os.WriteFile(path, chosen[node], node.perm); err != nil {
			return err
		}
	}
	return nil
}
