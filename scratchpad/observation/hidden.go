package observation

import (
	"bytes"
	"net/http"
	"unicode/utf8"

	"rouse/internal/redact"
)

// IsText says whether a content is a text to the store, and not [Binary].
func IsText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 && !knownBinary(http.DetectContentType(data))
}

// Hidden is the data of a part without secrets, those too that only reach into it:
// who reads a content in parts learns no more than who reads all of it at once.
func (c *Content) Hidden(p Part, hide *redact.Redactor) ([]byte, error) {
	reach := int64(hide.Reach())
	if reach == 0 || len(p.Data) == 0 {
		return p.Data, nil
	}
	unit, from, n := Chars, p.Char, int64(countRunes(p.Data))
	if p.Unit == Bytes { // it may begin within a character
		unit, from, n = Bytes, p.Start, int64(len(p.Data))
	}
	room := int(reach) * utf8.UTFMax
	before, err := c.Slice(unit, from-reach, from, room)
	if err != nil {
		return nil, err
	}
	after, err := c.Slice(unit, from+n, from+n+reach, room)
	if err != nil {
		return nil, err
	}
	at := len(before.Data)
	around := string(before.Data) + string(p.Data) + string(after.Data)
	return []byte(hide.Window(around, at, at+len(p.Data))), nil
}

// Hide takes the secrets out of what others said of an observation.
func (e *Entry) Hide(hide *redact.Redactor) {
	for _, text := range []*string{&e.Executor, &e.MIME, &e.Summary, &e.Facts, &e.Label} {
		*text = hide.String(*text)
	}
	e.Metadata = hide.JSON(e.Metadata)
}

// HideLines takes the secrets out of lines of a content that is text.
func (c *Content) HideLines(list []Line, hide *redact.Redactor) error {
	for i, l := range list {
		text, err := c.Hidden(Part{Unit: Chars, Char: l.Char, Data: []byte(l.Text)}, hide)
		if err != nil {
			return err
		}
		list[i].Text = string(text)
	}
	return nil
}
