package observation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"rouse/internal/text"
)

// digest sums a content up as it passes, in bounded memory.
type digest struct {
	opt   Options
	sum   hash.Hash
	total place // lines counts newlines
	text  bool  // valid UTF-8 without NUL so far
	last  byte

	ends   text.Ends // what the preview needs
	media  string    // by its first bytes
	levels *levels
	json   *jsonScan // nil if it is none; so for the next two
	table  *table
	page   *htmlScan
}

func newDigest(o Options) *digest {
	need := o.PreviewChars * utf8.UTFMax
	return &digest{opt: o, sum: sha256.New(), text: true, levels: newLevels(), ends: text.Ends{Head: need, Tail: need}}
}

// summaryChars are those of preview and facts together.
const summaryChars = 2000

// hash takes the next block; it may run beside sumUp.
func (d *digest) hash(block []byte) { d.sum.Write(block) }

// sumUp takes the next block, and measures its chunks.
func (d *digest) sumUp(b *block) {
	d.add(b.whole())
	for p := range b.chunks {
		s := measure(p)
		d.count(s)
		b.sizes = append(b.sizes, s)
	}
}

// add takes the next block: whole chunks.
func (d *digest) add(block []byte) {
	if len(block) == 0 {
		return
	}
	if d.media == "" {
		d.begin(block)
	}
	d.last = block[len(block)-1]
	d.ends.Write(block)
	if !d.text {
		return
	}
	if d.json != nil {
		d.json.add(block)
	}
	if d.table != nil {
		d.table.add(block)
	}
	if d.page != nil {
		d.page.add(block)
		return
	}
	d.levels.add(block)
}

// begin looks at the first block and chooses what to look for.
func (d *digest) begin(block []byte) {
	d.media = http.DetectContentType(block)
	d.text = !knownBinary(d.media)
	start := bytes.TrimLeft(bytes.TrimPrefix(block, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(start) == 0:
	case start[0] == '{' || start[0] == '[':
		d.json = newJSONScan()
	case strings.HasPrefix(d.media, "text/html"):
		d.page = &htmlScan{}
	default:
		d.table = sniffTable(block)
	}
}

// knownBinary says whether the first bytes are those of a format that is no
// text. What has merely odd bytes at its beginning is judged by all its bytes.
func knownBinary(media string) bool {
	return !strings.HasPrefix(media, "text/") && media != "application/octet-stream" && media != "application/postscript"
}

// count takes the size of a chunk.
func (d *digest) count(s size) {
	d.total.advance(s)
	d.text = d.text && s.text
}

// entry is what was found out.
func (d *digest) entry() Entry {
	e := Entry{Bytes: d.total.byte, Runes: d.total.rune, Lines: d.total.line, SHA256: hex.EncodeToString(d.sum.Sum(nil))}
	if d.total.byte > 0 && d.last != '\n' {
		e.Lines++
	}
	e.valid = d.text
	e.Kind = d.kind(e.Lines)
	if e.Kind == Binary {
		e.MIME = d.media
		e.Summary = BinarySummary(e.Bytes, e.SHA256, e.MIME)
		if !knownBinary(d.media) {
			e.Facts = text.Count(e.Lines, "line") + "; some bytes are not text, and grep and lines show the rest"
		}
		return e
	}
	e.Summary = d.preview()
	e.Facts = text.Cut(d.facts(e), summaryChars-utf8.RuneCountInString(e.Summary)-2)
	return e
}

func (d *digest) kind(lines int64) Kind {
	switch {
	case !d.text:
		return Binary
	case d.page != nil:
		return HTML
	case d.json != nil && d.json.end():
		return JSON
	case d.table != nil && d.table.delimiter == '\t':
		return TSV
	case d.table != nil:
		return CSV
	case d.levels.found()*10 >= lines && d.levels.found() > 0:
		return Log
	}
	return Text
}

// preview is the beginning and the end, or all of what is short.
func (d *digest) preview() string {
	n := d.opt.PreviewChars
	omitted := d.total.rune - 2*int64(n)
	head, tail, left := d.ends.Kept()
	if left == 0 {
		head = slices.Concat(head, tail)
		tail = head
	}
	if omitted <= 0 {
		return string(head)
	}
	from, to := 0, len(tail)
	for range n {
		_, w := utf8.DecodeRune(head[from:])
		from += w
		_, w = utf8.DecodeLastRune(tail[:to])
		to -= w
	}
	return fmt.Sprintf("%s\n[... %d characters omitted ...]\n%s", head[:from], omitted, tail[to:])
}

func (d *digest) facts(e Entry) string {
	size := fmt.Sprintf("%s, %s", text.Count(e.Lines, "line"), text.Count(e.Runes, "character"))
	switch e.Kind {
	case HTML:
		return size + "\n" + d.page.String()
	case JSON:
		return size + "\nJSON: " + d.json.String() + d.levels.String()
	case CSV, TSV:
		return size + "\n" + d.table.String(e.Lines)
	}
	return size + d.levels.String()
}

// BinarySummary is what a model reads of content that is no text.
func BinarySummary(size int64, sha256, mime string) string {
	return fmt.Sprintf("[BINARY: %d bytes, sha256=%s, %s]", size, sha256, mime)
}
