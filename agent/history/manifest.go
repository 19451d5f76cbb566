package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

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

// Version is the files of a folder as they were once, sorted by their paths.
type Version struct {
	ID      string
	Parent  string // the version that it was compared with, "" for none
	Of      string // the folder, as [Store.Of] names it
	Scanned int64  // when, in nanoseconds
	Entries []Entry
}

// packs are those that have the contents of a version.
func (v *Version) packs() (ids []string) {
	seen := map[string]bool{}
	for _, e := range v.Entries {
		if e.In != "" && !seen[e.In] {
			seen[e.In] = true
			ids = append(ids, e.In)
		}
	}
	slices.Sort(ids)
	return ids
}

const manifestHead = "rouse history 1\n"

// text is the manifest of a version. Its last line is the hash of all before it.
func (v *Version) text() []byte {
	b := make([]byte, 0, 256+160*len(v.Entries))
	b = fmt.Appendf(b, "%sversion %s\nparent %s\nof %s\nscanned %d\npacks %s\n", manifestHead, v.ID, v.Parent, appendName(nil, v.Of), v.Scanned, strings.Join(v.packs(), " "))
	for _, e := range v.Entries {
		b = append(b, byte(e.Kind), '\t')
		b = append(strconv.AppendUint(b, uint64(e.Mode), 8), '\t')
		b = append(strconv.AppendInt(b, e.Size, 10), '\t')
		b = append(strconv.AppendInt(b, e.Mod, 10), '\t')
		b = append(strconv.AppendInt(b, e.Change, 10), '\t')
		b = append(strconv.AppendUint(b, e.Inode, 10), '\t')
		b = append(appendName(b, e.Is), '\t')
		b = append(append(b, e.In...), '\t')
		b = append(appendName(b, e.Path), '\n')
	}
	sum := sha256.Sum256(b)
	return fmt.Appendf(b, "sum %x\n", sum)
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
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return 0, err
	}
	frame := enc.EncodeAll(v.text(), nil)
	return int64(len(frame)), disk.Replace(s.disk(), s.manifest(v.ID), frame, 0o600)
}

// maxManifest bounds the text of a manifest, in bytes.
const maxManifest = 256 << 20

// Read reads a version. It is what was written, or an error that names it.
func (s Store) Read(id string) (*Version, error) {
	frame, err := os.ReadFile(s.manifest(id))
	if err != nil {
		return nil, err
	}
	v, err := parse(frame)
	if err == nil && v.ID != id {
		err = fmt.Errorf("it is version %s", v.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("the version %s is damaged: %w", id, err)
	}
	return v, nil
}

func parse(frame []byte) (*Version, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxManifest))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	text, err := dec.DecodeAll(frame, nil)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(text, []byte("\nsum ")) + 1
	if sum := sha256.Sum256(text[:at]); at == 0 || string(text[at:]) != "sum "+hex.EncodeToString(sum[:])+"\n" {
		return nil, errors.New("its hash is another")
	}
	rest, ok := strings.CutPrefix(string(text[:at]), manifestHead)
	if !ok {
		return nil, errors.New("it is of another program")
	}
	v := &Version{}
	var head [5]string
	for i, name := range []string{"version ", "parent ", "of ", "scanned ", "packs "} {
		line, after, _ := strings.Cut(rest, "\n")
		if head[i], ok = strings.CutPrefix(line, name); !ok {
			return nil, fmt.Errorf("it has no %s", name)
		}
		rest = after
	}
	v.ID, v.Parent = head[0], head[1]
	if v.Of, err = readName(head[2]); err != nil {
		return nil, err
	}
	if v.Scanned, err = strconv.ParseInt(head[3], 10, 64); err != nil {
		return nil, err
	}
	v.Entries = make([]Entry, 0, strings.Count(rest, "\n"))
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		e, err := parseEntry(line)
		if err != nil {
			return nil, err
		}
		v.Entries = append(v.Entries, e)
	}
	return v, nil
}

func parseEntry(line string) (e Entry, err error) {
	var f [9]string
	for i := range f {
		var more bool
		if f[i], line, more = strings.Cut(line, "\t"); more == (i == len(f)-1) || f[0] == "" {
			return e, errors.New("a line is no entry")
		}
	}
	number := func(s string, base int) (n uint64) {
		n, failed := strconv.ParseUint(s, base, 64)
		if failed != nil && err == nil {
			err = failed
		}
		return n
	}
	signed := func(s string) int64 {
		n, failed := strconv.ParseInt(s, 10, 64)
		if failed != nil && err == nil {
			err = failed
		}
		return n
	}
	e = Entry{Kind: Kind(f[0][0]), Mode: uint32(number(f[1], 8)), Size: signed(f[2]), Mod: signed(f[3]), Change: signed(f[4]), Inode: number(f[5], 10), In: f[7]}
	name := func(s string) string {
		n, failed := readName(s)
		if failed != nil && err == nil {
			err = failed
		}
		return n
	}
	e.Is, e.Path = name(f[6]), name(f[8])
	if err == nil && !filepath.IsLocal(e.Path) {
		err = fmt.Errorf("the path %q leads out of the folder", e.Path)
	}
	return e, err
}

// namedPacks reads of a manifest only which packs it names.
func (s Store) namedPacks(id string) ([]string, error) {
	f, err := os.Open(s.manifest(id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxManifest))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	var text []byte
	for buf := make([]byte, 4<<10); ; {
		n, err := dec.Read(buf)
		text = append(text, buf[:n]...)
		if _, packs, ok := bytes.Cut(text, []byte("\npacks ")); ok {
			if line, _, ok := bytes.Cut(packs, []byte("\n")); ok {
				return strings.Fields(string(line)), nil
			}
		}
		if err == io.EOF || err != nil || len(text) > maxManifest {
			return nil, fmt.Errorf("the version %s is damaged", id)
		}
	}
}
