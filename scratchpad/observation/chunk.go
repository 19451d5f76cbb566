package observation

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"rouse/internal/text"
)

// Sizes of the parts of a large content.
const (
	chunkSize = 64 << 10  // at most, and the most that is kept in a row
	blockSize = 256 << 10 // what is worked on at once
	pageSize  = 128       // chunks that one row of the index describes
)

// cut gives how much of p is its first chunk: up to the last newline within
// reach, else to the end of a character. The rest of the content follows p
// unless p is final.
func cut(p []byte, final bool) int {
	if final && len(p) <= chunkSize {
		return len(p)
	}
	w := p[:min(len(p), chunkSize)]
	if i := bytes.LastIndexByte(w, '\n'); i >= 0 {
		return i + 1
	}
	return len(w) - text.Incomplete(w)
}

// place is where something begins: in bytes, characters and newlines of the
// content, and in bytes of its file.
type place struct{ byte, rune, line, offset int64 }

func (p *place) advance(s size) {
	p.byte += int64(s.bytes)
	p.rune += int64(s.runes)
	p.line += int64(s.lines)
	p.offset += int64(s.stored)
}

// size is that of a chunk; lines counts newlines.
type size struct {
	stored, bytes, runes, lines int
	text                        bool // valid UTF-8 without NUL; not in the index
}

// measure counts what is in a chunk, in pieces: in most text other characters
// than ASCII's are few, and counting those is slow.
func measure(p []byte) size {
	s := size{bytes: len(p), lines: bytes.Count(p, []byte{'\n'}), text: bytes.IndexByte(p, 0) < 0}
	for len(p) > 0 {
		piece := p[:min(len(p), 512)]
		if n := len(piece) - text.Incomplete(piece); n > 0 && len(piece) < len(p) {
			piece = piece[:n]
		}
		p = p[len(piece):]
		if isASCII(piece) {
			s.runes += len(piece)
			continue
		}
		s.runes += utf8.RuneCount(piece)
		s.text = s.text && utf8.Valid(piece)
	}
	return s
}

func isASCII(p []byte) bool {
	const high = 0x8080808080808080
	for len(p) >= 32 {
		w := binary.LittleEndian.Uint64(p) | binary.LittleEndian.Uint64(p[8:]) |
			binary.LittleEndian.Uint64(p[16:]) | binary.LittleEndian.Uint64(p[24:])
		if w&high != 0 {
			return false
		}
		p = p[32:]
	}
	for _, b := range p {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// page is one row of the index: where its first chunk begins, and the sizes of
// up to pageSize chunks, four little-endian numbers of 32 bits each.
type page struct {
	k int // number of its first chunk
	place
	sizes []byte
}

// chunk is one chunk of a content.
type chunk struct {
	place
	size
}

func (p page) chunks() []chunk {
	list := make([]chunk, 0, len(p.sizes)/16)
	at := p.place
	for b := p.sizes; len(b) >= 16; b = b[16:] {
		u := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
		c := chunk{at, size{stored: u(0), bytes: u(1), runes: u(2), lines: u(3)}}
		list = append(list, c)
		at.advance(c.size)
	}
	return list
}

// index grows as chunks are written.
type index struct {
	pages []page
	end   place
	n     int
}

func (x *index) add(s size) {
	if x.n%pageSize == 0 {
		x.pages = append(x.pages, page{k: x.n, place: x.end})
	}
	p := &x.pages[len(x.pages)-1]
	for _, v := range [...]int{s.stored, s.bytes, s.runes, s.lines} {
		p.sizes = binary.LittleEndian.AppendUint32(p.sizes, uint32(v))
	}
	x.end.advance(s)
	x.n++
}
