package observation

import (
	"encoding/binary"
	"hash/crc32"
	"regexp/syntax"
)

// A filter says which texts a compressed chunk cannot hold, so that a search need
// not decode it: a set of bits, one of them for each three bytes in a row. It
// stands before the chunk's frame as a frame that decoders skip, and is a part of
// the chunk as stored. Chunks without one may hold anything.
//
// A skippable frame (RFC 8878, section 3.1.2) is a number, a length and data: here
// the bits and a checksum of them, since a bit that was lost would hide a match.
const (
	gramSize    = 3
	filterBits  = 1 << 14         // at most; in text that compresses well, fewer
	leastFilter = 64              // bytes
	filterShare = 10              // a filter takes at most this part of its frame
	filterMagic = 0x184d2a50 | 12 // one of the 16 numbers of skippable frames; 11 was of other bits
	filterHead  = 8
	filterSum   = 4
)

// gram gives the bit of the three lowest bytes of w.
func gram(w uint64) uint64 { return (w & 0xffffff) * 0x9e3779b97f4a7c15 >> 50 }

// grams are the bits of a chunk, one a byte while they are set.
type grams [filterBits]byte

// see sets the bits of all that is in p.
func (g *grams) see(p []byte) {
	for ; len(p) >= 8; p = p[6:] {
		w := binary.LittleEndian.Uint64(p)
		g[gram(w)], g[gram(w>>8)], g[gram(w>>16)] = 1, 1, 1
		g[gram(w>>24)], g[gram(w>>32)], g[gram(w>>40)] = 1, 1, 1
	}
	for ; len(p) >= gramSize; p = p[1:] {
		g[gram(gramAt(p))] = 1
	}
}

func gramAt(p []byte) uint64 { return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 }

// appendFilter appends the filter of chunk p, whose frame has so many bytes.
func appendFilter(out, p []byte, frame int) []byte {
	n := filterBits / 8
	for n > leastFilter && (filterHead+n+filterSum)*filterShare > frame {
		n /= 2
	}
	if (filterHead+n+filterSum)*filterShare > frame {
		return out
	}
	var g grams
	g.see(p)
	out = binary.LittleEndian.AppendUint32(out, filterMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(n+filterSum))
	bits := g.fold(n * 8)
	for ; len(bits) > 0; bits = bits[8:] { // eight bytes of 0 or 1 become a byte
		out = append(out, byte(binary.LittleEndian.Uint64(bits)*0x0102040810204080>>56))
	}
	return binary.LittleEndian.AppendUint32(out, checksum(out[len(out)-n:]))
}

// fold makes n bits of them, each of several.
func (g *grams) fold(n int) []byte {
	for size := filterBits; size > n; size /= 2 {
		for i := range size / 2 {
			g[i] |= g[size/2+i]
		}
	}
	return g[:n]
}

func checksum(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// filter is the bits of a chunk as stored; nil for one that may hold anything.
type filter []byte

// filterOf gives the filter of a chunk, as it is stored.
func filterOf(stored []byte) filter {
	if len(stored) < filterHead || binary.LittleEndian.Uint32(stored) != filterMagic {
		return nil
	}
	n := int64(binary.LittleEndian.Uint32(stored[4:])) - filterSum
	if rest := stored[filterHead:]; n >= leastFilter && n <= filterBits/8 && n&(n-1) == 0 && n+filterSum <= int64(len(rest)) &&
		checksum(rest[:n]) == binary.LittleEndian.Uint32(rest[n:]) {
		return filter(rest[:n])
	}
	return nil
}

// mayHold says whether the text can be in the chunk.
func (f filter) mayHold(text string) bool {
	for p := []byte(text); len(p) >= gramSize && f != nil; p = p[1:] {
		bit := gram(gramAt(p)) & uint64(len(f)*8-1)
		if f[bit/8]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}

// required gives lists of strings; every match holds one of each list.
func required(re *syntax.Regexp) (lists [][]string) {
	switch re.Op {
	case syntax.OpCapture:
		return required(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			lists = append(lists, required(sub)...)
		}
		return lists
	}
	if list := literals(re); worth(list) >= gramSize {
		return [][]string{list}
	}
	return nil
}

// mayMatch says whether a chunk of whole lines, as it is stored, can have a match.
func (p *pattern) mayMatch(stored []byte) bool {
	f := filterOf(stored)
	for _, list := range p.required {
		may := false
		for _, s := range list {
			may = may || f.mayHold(s)
		}
		if !may {
			return false
		}
	}
	return true
}
