package history

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rouse/internal/disk"
)

// Drop removes the versions of cycles before one, but never the newest version that
// can be read, and all that no version names any more.
func (s Store) Drop(cycle string) error {
	ids, err := s.Versions()
	if err != nil || len(ids) == 0 {
		return err
	}
	n := 0
	for n < len(ids)-1 && CycleOf(ids[n]) < cycle {
		n++
	}
	if n = min(n, s.newestGood(ids)); n > 0 {
		if err := s.remove(ids[:n]); err != nil {
			return err
		}
	}
	_, err = s.collect(ids[n:])
	return cmp.Or(err, s.recount())
}

// Clear removes all versions.
func (s Store) Clear() error {
	ids, err := s.Versions()
	if err != nil || !disk.Exists(s.Dir) {
		return err
	}
	if err := s.remove(ids); err != nil {
		return err
	}
	return s.each(func(name string, _ fs.DirEntry) error { return s.disk().Remove(filepath.Join(s.Dir, name)) })
}

// newestGood is where in a list the newest version is that can be read, or the
// newest if none can.
func (s Store) newestGood(ids []string) int {
	for i := len(ids) - 1; i >= 0; i-- {
		if _, err := s.Read(ids[i]); err == nil {
			return i
		}
	}
	return len(ids) - 1
}

// remove removes versions, the oldest first, durably: nothing may go that one names
// which a loss of power brings back.
func (s Store) remove(ids []string) error {
	for _, id := range ids {
		if err := s.disk().Remove(s.manifest(id)); err != nil {
			return err
		}
	}
	return s.disk().SyncDir(s.Dir)
}

// collect removes the packs that none of these versions names, and what writers that
// died have left. A version that cannot be read may name any of them: then it does
// nothing and says so.
func (s Store) collect(ids []string) (sure bool, err error) {
	live := map[string]bool{}
	for _, id := range ids {
		packs, err := s.namedPacks(id)
		if err != nil {
			return false, nil
		}
		for _, p := range packs {
			live[p] = true
		}
	}
	err = disk.Sweep(s.disk(), s.Dir, "")
	for _, id := range s.allPacks() {
		if !live[id] {
			err = cmp.Or(err, s.disk().Remove(s.pack(id)))
		}
	}
	return true, err
}

func (s Store) allPacks() (ids []string) {
	entries, _ := os.ReadDir(s.Dir) // what cannot be listed is not removed
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), packName); ok && !disk.IsTemp(e.Name()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// recount puts down what all versions take now.
func (s Store) recount() error {
	ids, err := s.Versions()
	if err != nil || len(ids) == 0 {
		return err
	}
	bytes, err := s.Bytes()
	return cmp.Or(err, s.putHead(ids[s.newestGood(ids)], bytes))
}

// shrink makes the versions take three quarters of what they may, by letting the
// oldest go.
func (s Store) shrink() error {
	ids, err := s.Versions()
	if err != nil {
		return err
	}
	last, sizes := s.last(ids)
	bytes, err := s.Bytes()
	most, n := s.newestGood(ids), 0
	for ; n < most && bytes > s.MaxBytes/4*3; n++ {
		bytes -= sizes[n]
	}
	if n == 0 {
		return cmp.Or(err, s.recount())
	}
	if err := cmp.Or(err, s.remove(ids[:n])); err != nil {
		return err
	}
	sure, err := s.collect(ids[n:])
	for _, id := range s.allPacks() {
		if !sure {
			break
		}
		err = cmp.Or(err, s.repack(id, func(sum string) bool { return last[id+sum] >= n }))
	}
	return cmp.Or(err, s.recount())
}

// last says of each content which version of a list is the last to name it, and of each
// version how much goes with it.
func (s Store) last(ids []string) (last map[string]int, sizes []int64) {
	last, sizes = map[string]int{}, make([]int64, len(ids))
	for i, id := range ids {
		if info, err := os.Stat(s.manifest(id)); err == nil {
			sizes[i] = info.Size()
		}
		v, err := s.Read(id)
		if err != nil {
			continue // it can name nothing that could be read
		}
		for e := range v.All() {
			if e.Kind == File {
				last[e.In+e.Is] = i
			}
		}
	}
	for _, id := range s.allPacks() {
		f, all, err := s.openPack(id)
		if err != nil {
			continue
		}
		f.Close()
		for _, p := range all {
			if i, ok := last[id+p.sum]; ok {
				sizes[i] += p.size
			}
		}
	}
	return last, sizes
}

// repack writes a pack anew of which a quarter and more is dead.
func (s Store) repack(id string, live func(sum string) bool) error {
	f, all, err := s.openPack(id)
	if err != nil {
		return nil // it is damaged, and named where it is read
	}
	defer f.Close()
	var keep []piece
	var bytes, dead int64
	for _, p := range all {
		bytes += p.size
		if live(p.sum) {
			keep = append(keep, p)
		} else {
			dead += p.size
		}
	}
	if dead*4 < bytes || dead == 0 {
		return nil
	}
	_, err = s.writePack(s.disk(), id, func(p *packer) error {
		for _, e := range keep {
			if err := p.copy(f, e); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
