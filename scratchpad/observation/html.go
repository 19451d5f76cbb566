package observation

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"rouse/internal/text"
)

// htmlScan finds the title of a page and how much text it has, without the
// rigour of a browser.
type htmlScan struct {
	inTag   bool
	tag     []byte // name of the tag that is read
	named   bool   // its name is over
	hidden  []byte // name of the element, such as script, whose text is not shown
	inTitle bool
	title   []byte
	space   bool // the text so far ends in space
	length  int64
}

const maxTitle = 200

func (h *htmlScan) add(p []byte) {
	for len(p) > 0 {
		if h.inTag {
			p = h.readTag(p)
		} else {
			p = h.readText(p)
		}
	}
}

func (h *htmlScan) readText(p []byte) []byte {
	i := bytes.IndexByte(p, '<')
	text := p
	if i >= 0 {
		text, p = p[:i], p[i+1:]
		h.inTag, h.named, h.tag = true, false, h.tag[:0]
	} else {
		p = nil
	}
	if h.inTitle && len(h.title) < maxTitle {
		h.title = append(h.title, text[:min(len(text), maxTitle-len(h.title))]...)
	}
	if len(h.hidden) == 0 {
		h.count(text)
	}
	return p
}

// count counts characters, a run of space as one.
func (h *htmlScan) count(text []byte) {
	for _, c := range text {
		space := c == ' ' || c == '\n' || c == '\t' || c == '\r'
		if (!space || !h.space) && c&0xc0 != 0x80 {
			h.length++
		}
		h.space = space
	}
}

func (h *htmlScan) readTag(p []byte) []byte {
	for i, c := range p {
		if !h.named && (isWord(c) || c == '/' && len(h.tag) == 0 || c == '!') && len(h.tag) < 16 {
			h.tag = append(h.tag, c)
			continue
		}
		h.named = true
		if c == '>' {
			h.inTag = false
			h.endTag()
			return p[i+1:]
		}
	}
	return nil
}

// endTag follows a tag that was read.
func (h *htmlScan) endTag() {
	name := strings.ToLower(string(h.tag))
	switch {
	case len(h.hidden) > 0:
		if name == "/"+string(h.hidden) {
			h.hidden = h.hidden[:0]
		}
	case name == "script" || name == "style" || name == "title":
		h.hidden = append(h.hidden, name...)
	}
	h.inTitle = name == "title" && len(h.title) == 0
}

// String says what was found.
func (h *htmlScan) String() string {
	title := strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(h.title), ""))), " ")
	return fmt.Sprintf("HTML: title %q, about %s of text", title, text.Count(h.length, "character"))
}
