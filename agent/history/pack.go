package history

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"rouse/internal/disk"
)

// window is how far a frame looks back, and so about what packing takes of memory.
const window = 1 << 20

func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
}

// newDecoder decodes at most so many bytes.
func newDecoder(r io.Reader, most uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(most))
}

// piece is where a content lies in a pack.
type piece struct {
	sum      string
	at, size int64
}

// A pack is contents one after the other, each a zstd frame; then a line for each,
// `sum at size`; then packEnd, which says where these lines begin and proves them.
const (
	packEnd    = "rouse pack 1 %020d %064x\n"
	packEndLen = 13 + 20 + 1 + 64 + 1
)

// packer writes a pack.
type packer struct {
	w   *bufio.Writer
	enc *zstd.Encoder
	all []piece
	at  int64
}

// Write counts what is written.
func (p *packer) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return n, err
}

// add puts a content into the pack, and gives its hash.
func (p *packer) add(r io.Reader) (sum string, err error) {
	if p.enc == nil {
		if p.enc, err = newEncoder(); err != nil {
			return "", err
		}
	}
	at, h := p.at, sha256.New()
	p.enc.Reset(p)
	if _, err := io.Copy(p.enc, io.TeeReader(r, h)); err != nil {
		return "", err
	}
	if err := p.enc.Close(); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	p.all = append(p.all, piece{sum, at, p.at - at})
	return sum, nil
}

// copy puts a content of another pack into this one.
func (p *packer) copy(from io.ReaderAt, c piece) error {
	at := p.at
	_, err := io.Copy(p, io.NewSectionReader(from, c.at, c.size))
	p.all = append(p.all, piece{c.sum, at, c.size})
	return err
}

// end writes what tells where all is.
func (p *packer) end() error {
	var lines bytes.Buffer
	for _, e := range p.all {
		fmt.Fprintf(&lines, "%s %d %d\n", e.sum, e.at, e.size)
	}
	at, sum := p.at, sha256.Sum256(lines.Bytes())
	fmt.Fprintf(&lines, packEnd, at, sum)
	_, err := p.Write(lines.Bytes())
	return cmp.Or(err, p.w.Flush())
}

// writePack makes a pack of what fill adds, as that goes into its file, and gives its size.
func (s Store) writePack(d disk.FS, id string, fill func(*packer) error) (size int64, err error) {
	err = disk.ReplaceBy(d, s.pack(id), 0o600, func(w io.Writer) error {
		p := &packer{w: bufio.NewWriterSize(w, 256<<10)}
		err := cmp.Or(fill(p), p.end())
		size = p.at
		return err
	})
	return size, err
}

// openPack opens a pack and reads what is in it.
func (s Store) openPack(id string) (f *os.File, all []piece, err error) {
	if f, err = os.Open(s.pack(id)); err != nil {
		return nil, nil, err
	}
	if all, err = pieces(f); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("the pack %s is damaged: %w", id, err)
	}
	return f, all, nil
}

func pieces(f *os.File) (all []piece, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	end := info.Size() - packEndLen
	last := make([]byte, packEndLen)
	if _, err := f.ReadAt(last, max(0, end)); err != nil {
		return nil, err
	}
	var at int64
	var sum []byte
	if _, err := fmt.Sscanf(string(last), packEnd, &at, &sum); err != nil || at < 0 || at > end {
		return nil, errors.New("it has no end")
	}
	lines := make([]byte, end-at)
	if _, err := f.ReadAt(lines, at); err != nil {
		return nil, err
	}
	if is := sha256.Sum256(lines); !bytes.Equal(is[:], sum) {
		return nil, errors.New("the hash of its list is another")
	}
	for line := range bytes.Lines(lines) {
		var p piece
		if _, err := fmt.Sscanf(string(line), "%s %d %d", &p.sum, &p.at, &p.size); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Contents reads contents of versions. It holds on to the pack that it read last.
type Contents struct {
	s    Store
	in   string
	file *os.File
	all  map[string]piece
	dec  *zstd.Decoder
}

// Contents reads what the versions have; close it.
func (s Store) Contents() *Contents { return &Contents{s: s} }

// Close gives back what it holds.
func (c *Contents) Close() {
	if c.file != nil {
		c.file.Close()
	}
	if c.dec != nil {
		c.dec.Close()
	}
}

// Of gives the content of a file. Its end is an error unless all before it was what
// the version says.
func (c *Contents) Of(e Entry) (io.Reader, error) {
	if c.in != e.In || c.file == nil {
		f, all, err := c.s.openPack(e.In)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
		c.Close()
		c.in, c.file, c.dec, c.all = e.In, f, nil, map[string]piece{}
		for _, p := range all {
			c.all[p.sum] = p
		}
	}
	p, ok := c.all[e.Is]
	if !ok {
		return nil, fmt.Errorf("%s: its content is not in the pack %s", e.Path, e.In)
	}
	r := io.NewSectionReader(c.file, p.at, p.size)
	var err error
	if c.dec == nil {
		c.dec, err = newDecoder(r, 1<<62)
	} else {
		err = c.dec.Reset(r)
	}
	return &proven{r: c.dec, hash: sha256.New(), e: e}, err
}

// proven reads a content and checks it at its end.
type proven struct {
	r    io.Reader
	hash hash.Hash
	e    Entry
}

func (p *proven) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.hash.Write(b[:n])
	if err == nil || err == io.EOF && hex.EncodeToString(p.hash.Sum(nil)) == p.e.Is {
		return n, err
	}
	return n, fmt.Errorf("%s: what the pack %s has of it is damaged", p.e.Path, p.e.In)
}
