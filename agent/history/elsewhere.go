package history

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Frame is the version as its manifest has it, for a store elsewhere; [Parse] reads it.
func (v *Version) Frame() ([]byte, error) { return new(Codec).Frame(v.text()) }

// Parse reads a version out of the manifest of a store elsewhere.
func Parse(manifest []byte) (*Version, error) {
	v, err := parse(manifest)
	if err != nil {
		return nil, err
	}
	return v, v.check()
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
