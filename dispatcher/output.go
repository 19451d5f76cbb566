package dispatcher

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"unicode/utf8"

	"rouse/scratchpad/observation"
)

// What the model is shown of one output: all of it up to shown bytes, else its
// beginning and its end.
const (
	shown     = 16 << 10
	shownTail = 4 << 10
)

// output takes the content of a call as it comes: it keeps its beginning and its
// end, counts and hashes all of it, and notices what is not text. Its memory is
// bounded whatever it is given.
type output struct {
	// begin, unless nil, gives a writer to park the content with, or nil; it is
	// asked once the content is larger than threshold.
	begin     func() *observation.Writer
	threshold int
	writer    *observation.Writer

	head, tail []byte
	bytes      int64
	runes      int64
	partial    []byte // an incomplete rune at the end of what came so far
	binary     bool
	sum        hash.Hash
}

func newOutput() *output { return &output{sum: sha256.New()} }

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	if o.writer == nil && o.begin != nil && o.bytes+int64(len(p)) > int64(o.threshold) {
		o.park()
	}
	if o.writer != nil {
		return o.writer.Write(p)
	}
	o.bytes += int64(len(p))
	o.sum.Write(p)
	o.inspect(p)
	rest := p
	if room := shown - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	o.keepTail(rest)
	return len(p), nil
}

// park begins to park the content, of which the head holds all until now. It
// says whether that can be done, and asks only once.
func (o *output) park() bool {
	if o.begin == nil {
		return false
	}
	o.writer, o.begin = o.begin(), nil
	if o.writer == nil {
		return false
	}
	o.writer.Write(o.head)
	return true
}

// isExact says whether text gives back all that came.
func (o *output) isExact() bool { return !o.binary && len(o.partial) == 0 && o.bytes <= shown }

// digest is the SHA-256 of the content, in hexadecimal.
func (o *output) digest() string { return hex.EncodeToString(o.sum.Sum(nil)) }

// keepTail keeps at least the last shownTail bytes of what is past the head.
func (o *output) keepTail(p []byte) {
	if len(p) >= 2*shownTail {
		o.tail = append(o.tail[:0], p[len(p)-2*shownTail:]...)
		return
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 4*shownTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-2*shownTail:]...)
	}
}

// inspect counts runes and looks for bytes that no text has.
func (o *output) inspect(p []byte) {
	if o.binary {
		return
	}
	if bytes.IndexByte(p, 0) >= 0 {
		o.binary = true
		return
	}
	if len(o.partial) > 0 {
		p = append(o.partial, p...)
		o.partial = nil
	}
	whole := len(p) - incomplete(p)
	o.partial = append([]byte(nil), p[whole:]...)
	o.binary = !utf8.Valid(p[:whole])
	o.runes += int64(utf8.RuneCount(p[:whole]))
}

// incomplete gives how many bytes at the end of p begin a rune that is not all
// there.
func incomplete(p []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(p)); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if utf8.FullRune(p[len(p)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// text is what the model sees.
func (o *output) text() string {
	if o.binary {
		return observation.BinarySummary(o.bytes, fmt.Sprintf("%x", o.sum.Sum(nil)), http.DetectContentType(o.head))
	}
	if o.bytes <= shown {
		return strings.ToValidUTF8(string(o.head), "\ufffd") // it may end in the middle of a character
	}
	head := wholeRunes(o.head[:shown-shownTail])
	tail := append(o.head[shown-shownTail:len(o.head):len(o.head)], o.tail...)
	tail = wholeRunes(fromRuneStart(tail[len(tail)-shownTail:]))
	omitted := o.runes - int64(utf8.RuneCount(head)) - int64(utf8.RuneCount(tail))
	return fmt.Sprintf("%s\n[... %d characters omitted ...]\n%s", head, omitted, tail)
}

func wholeRunes(p []byte) []byte { return p[:len(p)-incomplete(p)] }

func fromRuneStart(p []byte) []byte {
	for len(p) > 0 && !utf8.RuneStart(p[0]) {
		p = p[1:]
	}
	return p
}
