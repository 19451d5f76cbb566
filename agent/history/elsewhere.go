package history

import (
	"bytes"
	"cmp"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Parse reads a version out of the manifest of a store elsewhere, compressed or not.
func Parse(manifest []byte) (*Version, error) {
	v, err := parse(manifest)
	if err != nil {
		return nil, err
	}
	return v, v.check()
}

// Entries are those of a part of a manifest's text, which has whole lines.
func Entries(part []byte) (all []Entry, err error) {
	for line := range bytes.Lines(part) {
		if len(line) < 2 || line[1] != '\t' {
			continue // what stands before them, and after
		}
		e, failed := parseEntry(line)
		all, err = append(all, e), cmp.Or(err, failed)
	}
	return all, err
}

// Codec makes frames of pieces of contents, as packs have them. Several goroutines may use it.
type Codec struct {
	mu  sync.Mutex // held while one is made
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// made makes a coder when it is first used.
func made[T any](mu *sync.Mutex, at **T, make func() (*T, error)) (_ *T, err error) {
	mu.Lock()
	defer mu.Unlock()
	if *at == nil {
		*at, err = make()
	}
	return *at, err
}

// Frame compresses a piece.
func (c *Codec) Frame(piece []byte) (frame []byte, err error) {
	enc, err := made(&c.mu, &c.enc, newEncoder)
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(piece, nil), nil
}

// Piece gives back what is in a frame, of at most so many bytes.
func (c *Codec) Piece(frame []byte, most int) (piece []byte, err error) {
	dec, err := made(&c.mu, &c.dec, func() (*zstd.Decoder, error) { return newDecoder(nil, uint64(most)) })
	if err != nil {
		return nil, err
	}
	return dec.DecodeAll(frame, nil)
}
