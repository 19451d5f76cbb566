package history

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rouse/internal/disk"
)

// Kind is what an entry is.
type Kind byte

// The kinds of entries. Out is of a file that is listed and not kept.
const (
	File   Kind = 'f'
	Folder Kind = 'd'
	Link   Kind = 'l'
	Out    Kind = 'x'
)

// Entry is one file of a version.
type Entry struct {
	Kind        Kind
	Path        string // from the folder, with slashes
	Mode        uint32 // as chmod has it
	Size        int64
	Mod, Change int64 // times in nanoseconds
	Inode       uint64
	// Is is the SHA-256 of a file, where a link leads, or why a file is left out.
	Is string
	In string // the pack that a file's content is in
}

// Same says whether two entries are the same to people, wherever they are kept.
func (e Entry) Same(o Entry) bool {
	return e.Kind == o.Kind && e.Is == o.Is && (e.Mode == o.Mode || e.Kind == Link)
}

// Version is the files of a folder as they were once.
type Version struct {
	ID      string
	Parent  string // the version that it was compared with, "" for none
	Of      string // the folder, as [Store.Of] names it
	Scanned int64  // when, in nanoseconds

	lines []byte // one a file, each folder before what is in it, the rest by names
}

// Files is how many entries a version has.
func (v *Version) Files() int { return count(v.lines) }

// Has says that there is something at a path.
func (v *Version) Has(path string) bool {
	_, from, to := (&cursor{lines: v.lines}).seek([]byte(path))
	return from < to
}

// All are the entries of a version, in their order.
func (v *Version) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for line := range bytes.Lines(v.lines) {
			if !yield(*entryOn(line)) {
				return
			}
		}
	}
}

// packs are those that have the contents of a version.
func (v *Version) packs() []string {
	seen, last := map[string]bool{}, ""
	for line := range bytes.Lines(v.lines) {
		if _, in, _ := tail(line); string(in) != last {
			last = string(in)
			seen[last] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

const manifestHead = "rouse history 1\n"

// Text is the manifest of a version, which [Parse] reads. Its last line is the hash of all before it.
func (v *Version) Text() []byte {
	b := make([]byte, 0, len(v.lines)+1<<10)
	b = fmt.Appendf(b, "%sversion %s\nparent %s\nof %s\nscanned %d\npacks %s\n", manifestHead, v.ID, v.Parent, appendName(nil, v.Of), v.Scanned, strings.Join(v.packs(), " "))
	b = append(b, v.lines...)
	return fmt.Appendf(b, "sum %x\n", sha256.Sum256(b))
}

// appendHead writes what stat says of a file.
func (e *Entry) appendHead(b []byte) []byte {
	b = append(b, byte(e.Kind), '\t')
	b = append(strconv.AppendUint(b, uint64(e.Mode), 8), '\t')
	b = append(strconv.AppendInt(b, e.Size, 10), '\t')
	b = append(strconv.AppendInt(b, e.Mod, 10), '\t')
	b = append(strconv.AppendInt(b, e.Change, 10), '\t')
	return append(strconv.AppendUint(b, e.Inode, 10), '\t')
}

// appendLine writes an entry as manifests have it.
func (e *Entry) appendLine(b []byte) []byte {
	b = append(appendName(e.appendHead(b), e.Is), '\t')
	b = append(append(b, e.In...), '\t')
	return append(appendName(b, e.Path), '\n')
}

// tail gives the last fields of a line, and path as it is written.
func tail(line []byte) (is, in, path []byte) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	field := func() (f []byte) {
		at := bytes.LastIndexByte(line, '\t')
		f, line = line[at+1:], line[:max(0, at)]
		return f
	}
	path, in, is = field(), field(), field()
	return is, in, path
}

// appendName writes a name as it is, or quoted where a line could not have it so.
func appendName(b []byte, name string) []byte {
	plain := utf8.ValidString(name) && !strings.HasPrefix(name, `"`)
	for i := 0; i < len(name) && plain; i++ {
		plain = name[i] >= ' ' && name[i] != 0x7f
	}
	if plain {
		return append(b, name...)
	}
	return strconv.AppendQuote(b, name)
}

func readName(s string) (string, error) {
	if strings.HasPrefix(s, `"`) {
		return strconv.Unquote(s)
	}
	return s, nil
}

// write puts a version's manifest into the store, and gives its size.
func (s Store) write(v *Version) (int64, error) {
	frame, err := new(Codec).Frame(v.Text())
	if err != nil {
		return 0, err
	}
	return int64(len(frame)), disk.Replace(s.disk(), s.manifest(v.ID), frame, 0o600)
}

// maxManifest bounds the text of a manifest, in bytes.
const maxManifest = 256 << 20

// Read reads a version. It is what was written, or an error that names it.
func (s Store) Read(id string) (*Version, error) {
	v, err := s.read(id)
	if err != nil {
		return nil, err
	}
	return v, v.check()
}

// check says that each of its lines is an entry.
func (v *Version) check() error {
	for line := range bytes.Lines(v.lines) {
		if _, err := parseEntry(line); err != nil {
			return damaged(v.ID, err)
		}
	}
	return nil
}

func damaged(id string, err error) error {
	return fmt.Errorf("the version %s is damaged: %w", id, err)
}

// read reads a version whose entries nobody looks at yet.
func (s Store) read(id string) (*Version, error) {
	frame, err := os.ReadFile(s.manifest(id))
	if err != nil {
		return nil, err
	}
	v, err := parse(frame)
	if err == nil && v.ID != id {
		err = fmt.Errorf("it is version %s", v.ID)
	}
	if err != nil {
		return nil, damaged(id, err)
	}
	return v, nil
}

func parse(text []byte) (*Version, error) {
	if !bytes.HasPrefix(text, []byte(manifestHead)) {
		dec, err := newDecoder(nil, maxManifest)
		if err != nil {
			return nil, err
		}
		defer dec.Close()
		if text, err = dec.DecodeAll(text, nil); err != nil {
			return nil, err
		}
	}
	at := bytes.LastIndex(text, []byte("\nsum ")) + 1
	if sum := sha256.Sum256(text[:at]); at == 0 || string(text[at:]) != "sum "+hex.EncodeToString(sum[:])+"\n" {
		return nil, errors.New("its hash is another")
	}
	return parseHead(text[:at])
}

// parseHead reads what stands before the entries.
func parseHead(text []byte) (*Version, error) {
	rest, ok := bytes.CutPrefix(text, []byte(manifestHead))
	if !ok {
		return nil, errors.New("it is of another program")
	}
	var head [5]string
	for i, name := range []string{"version ", "parent ", "of ", "scanned ", "packs "} {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if head[i], ok = strings.CutPrefix(string(line), name); !ok {
			return nil, fmt.Errorf("it has no %s", name)
		}
		rest = after
	}
	of, err := readName(head[2])
	scanned, failed := strconv.ParseInt(head[3], 10, 64)
	return &Version{ID: head[0], Parent: head[1], Of: of, Scanned: scanned, lines: rest}, cmp.Or(err, failed)
}

func parseEntry(line []byte) (e Entry, err error) {
	f := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
	if len(f) != 9 || len(f[0]) != 1 {
		return e, errors.New("a line is no entry")
	}
	number := func(s string, base int) int64 {
		n, failed := strconv.ParseInt(s, base, 64)
		err = cmp.Or(err, failed)
		return n
	}
	name := func(s string) string {
		n, failed := readName(s)
		err = cmp.Or(err, failed)
		return n
	}
	e = Entry{Kind: Kind(f[0][0]), Mode: uint32(number(f[1], 8)), Size: number(f[2], 10), Mod: number(f[3], 10), Change: number(f[4], 10), Is: name(f[6]), In: f[7], Path: name(f[8])}
	inode, failed := strconv.ParseUint(f[5], 10, 64)
	if e.Inode = inode; !filepath.IsLocal(e.Path) {
		failed = cmp.Or(failed, fmt.Errorf("the path %q leads out of the folder", e.Path))
	}
	return e, cmp.Or(err, failed)
}

// namedPacks reads of a manifest only which packs it names.
func (s Store) namedPacks(id string) ([]string, error) {
	f, err := os.Open(s.manifest(id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec, err := newDecoder(f, maxManifest)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	for in := bufio.NewReader(dec); ; {
		line, err := in.ReadString('\n')
		if packs, ok := strings.CutPrefix(line, "packs "); ok && err == nil {
			return strings.Fields(packs), nil
		}
		if err != nil {
			return nil, damaged(id, err)
		}
	}
}
