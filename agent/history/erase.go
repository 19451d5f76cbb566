package history

import (
	"bytes"
	"cmp"
	"io"

	"rouse/internal/disk"
	"rouse/internal/erase"
)

// Erase takes a value out of all versions, and only counts where it stands unless do is
// set. What contents are without it is put down in sums, and names them in versions from
// then on. A file whose name or link has the value is in no version any more. Done by
// half, contents whose version still names what they were cannot be read until it is
// done again.
func (s Store) Erase(e *erase.Eraser, sums erase.Sums, do bool) (hits int, err error) {
	for _, id := range s.allPacks() {
		n, err := s.erasePack(e, id, sums, do)
		if hits += n; err != nil {
			return hits, err
		}
	}
	ids, err := s.Versions()
	for _, id := range ids {
		v, failed := s.read(id)
		if failed != nil {
			continue // it is damaged, and named where it is read
		}
		n, changed := v.erase(e, sums)
		if hits += n; do && changed {
			_, failed = s.write(v)
		}
		if err = cmp.Or(err, failed); err != nil {
			return hits, err
		}
	}
	if do && err == nil {
		err = cmp.Or(disk.Sweep(s.disk(), s.Dir, ""), s.recount())
	}
	return hits, err
}

// erasePack looks at each content of a pack, and writes the pack anew where it must.
func (s Store) erasePack(e *erase.Eraser, id string, sums erase.Sums, do bool) (hits int, err error) {
	f, all, err := s.openPack(id)
	if err != nil {
		return 0, nil // it is damaged, and named where it is read
	}
	defer f.Close()
	found := make([]bool, len(all))
	open := func(p piece) (io.ReadCloser, error) {
		dec, err := newDecoder(io.NewSectionReader(f, p.at, p.size), 1<<62)
		if err != nil {
			return nil, err
		}
		return dec.IOReadCloser(), nil
	}
	for i, p := range all {
		r, err := open(p)
		if err != nil {
			return hits, err
		}
		n, err := e.Look(r, sums)
		if r.Close(); err != nil {
			return hits, damaged(id, err)
		}
		hits, found[i] = hits+n, n > 0
	}
	if hits == 0 || !do {
		return hits, nil
	}
	_, err = s.writePack(s.disk(), id, func(p *packer) error {
		for i, was := range all {
			if err := p.again(f, was, found[i], e, open); err != nil {
				return err
			}
		}
		return nil
	})
	return hits, err
}

// again puts a content of another pack into this one, as it is or without a value.
func (p *packer) again(f io.ReaderAt, was piece, found bool, e *erase.Eraser, open func(piece) (io.ReadCloser, error)) error {
	if !found {
		return p.copy(f, was)
	}
	r, err := open(was)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = p.add(e.Reader(r))
	return err
}

// erase takes the value out of what the version says.
func (v *Version) erase(e *erase.Eraser, sums erase.Sums) (hits int, changed bool) {
	var lines []byte
	for line := range bytes.Lines(v.lines) {
		if _, n := e.Bytes(line); n > 0 {
			hits, changed = hits+n, true
			continue
		}
		entry := *entryOn(line)
		if now, ok := sums[entry.Is]; ok && entry.Kind == File {
			entry.Is, entry.Size, changed = now.Sum, now.Size, true
			line = entry.appendLine(nil)
		}
		lines = append(lines, line...)
	}
	v.lines = lines
	return hits, changed
}
