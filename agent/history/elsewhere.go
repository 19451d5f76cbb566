package history

import (
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

// Codec makes frames of pieces of contents, as packs have them, one after the other.
type Codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// Frame compresses a piece.
func (c *Codec) Frame(piece []byte) (frame []byte, err error) {
	if c.enc == nil {
		if c.enc, err = newEncoder(); err != nil {
			return nil, err
		}
	}
	return c.enc.EncodeAll(piece, nil), nil
}

// Piece gives back what is in a frame, of at most so many bytes.
func (c *Codec) Piece(frame []byte, most int) (piece []byte, err error) {
	if c.dec == nil {
		if c.dec, err = newDecoder(nil, uint64(most)); err != nil {
			return nil, err
		}
	}
	return c.dec.DecodeAll(frame, nil)
}
