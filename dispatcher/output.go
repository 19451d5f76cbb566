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

	"rouse/internal/text"
	"rouse/scratchpad/observation"
)

// What the model is shown of one output: all of it up to shown bytes, or to
// the threshold where that is more, else its
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

	ends    text.Ends
	runes   int64
	partial []byte // an incomplete rune at the end of what came so far
	binary  bool
	sum     hash.Hash
}

// newOutput gives one that holds at least what fits the threshold.
func newOutput(threshold int) *output {
	return &output{sum: sha256.New(), ends: text.Ends{Head: max(shown, threshold) - shownTail, Tail: shownTail}, threshold: threshold}
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	if o.writer == nil && o.begin != nil && o.ends.Total+int64(len(p)) > int64(o.threshold) {
		o.park()
	}
	if o.writer != nil {
		return o.writer.Write(p)
	}
	o.sum.Write(p)
	o.inspect(p)
	return o.ends.Write(p)
}

// park begins to park the content, all of which is kept until now. It
// says whether that can be done, and asks only once.
func (o *output) park() bool {
	if o.begin == nil {
		return false
	}
	o.writer, o.begin = o.begin(), nil
	if o.writer == nil {
		return false
	}
	head, tail, _ := o.ends.Kept()
	o.writer.Write(head)
	o.writer.Write(tail)
	return true
}

// isExact says whether text gives back all that came.
func (o *output) isExact() bool {
	return !o.binary && len(o.partial) == 0 && o.ends.Total <= int64(o.ends.Head+o.ends.Tail)
}

// digest is the SHA-256 of the content, in hexadecimal.
func (o *output) digest() string { return hex.EncodeToString(o.sum.Sum(nil)) }

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
	whole := len(p) - text.Incomplete(p)
	o.partial = append([]byte(nil), p[whole:]...)
	o.binary = !utf8.Valid(p[:whole])
	o.runes += int64(utf8.RuneCount(p[:whole]))
}

// text is what the model sees.
func (o *output) text() string {
	head, tail, left := o.ends.Kept()
	if o.binary {
		return observation.BinarySummary(o.ends.Total, o.digest(), http.DetectContentType(head))
	}
	if left == 0 { // it may end in the middle of a character
		return strings.ToValidUTF8(string(head)+string(tail), "\ufffd")
	}
	head = head[:len(head)-text.Incomplete(head)]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	tail = tail[:len(tail)-text.Incomplete(tail)]
	omitted := o.runes - int64(utf8.RuneCount(head)) - int64(utf8.RuneCount(tail))
	return fmt.Sprintf("%s\n[... %d characters omitted ...]\n%s", head, omitted, tail)
}
