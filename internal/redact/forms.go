package redact

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings lists the forms in which value is looked for, some of them twice.
// None is shorter than MinLength.
func spellings(value string) []string {
	hexed := hex.EncodeToString([]byte(value))
	list := append(escapes(value), hexed, strings.ToUpper(hexed))
	for offset := range 3 {
		std := base64Inside(value, offset)
		list = append(list, strings.NewReplacer("+", "-", "/", "_").Replace(std))
		list = append(list, escapes(std)...)
	}
	return list
}

// base64Inside returns the characters that value has in any base64 text in which
// offset bytes, modulo 3, stand before it: those that no neighbour shares.
func base64Inside(value string, offset int) string {
	text := base64.StdEncoding.EncodeToString(append(make([]byte, offset), value...))
	from := (offset*8 + 5) / 6
	to := (offset + len(value)) * 8 / 6
	return text[from:to]
}

// escapes lists s and its escaped forms.
func escapes(s string) []string {
	list := []string{s}
	if !strings.ContainsFunc(s, needsEscape) {
		return list
	}
	for _, keep := range percentKeeps {
		list = append(list, percent(s, keep, upperHex), percent(s, keep, lowerHex))
	}
	for i := range 16 {
		e := jsonEscaper{html: i&1 != 0, slash: i&2 != 0, ascii: i&4 != 0, digits: lowerHex}
		if i&8 != 0 {
			e.digits = upperHex
		}
		list = append(list, e.escape(s))
	}
	escaped := html.EscapeString(s)
	list = append(list, escaped, strings.ReplaceAll(escaped, "&#34;", "&quot;"))
	slices.Sort(list)
	return slices.Compact(list)
}

const (
	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
	// unreserved is what no percent-encoder touches beside letters and digits:
	// that of RFC 3986, section 2.3, without ~, which older ones do encode.
	unreserved = "-_."
)

// percentKeeps are the characters beyond the unreserved ones that an encoder
// leaves alone; a space there means that it writes a space as +.
var percentKeeps = [...]string{
	"",           // older encoders
	"~",          // curl, Python's quote with nothing safe
	"~/",         // Python's quote
	"~ ",         // queries and forms: Go's QueryEscape, Python's urlencode
	"* ",         // forms in a browser
	"~*!'()",     // JavaScript's encodeURIComponent
	"~$&+=:@",    // Go's PathEscape
	"~$&+,/:;=@", // the path of a Go URL
	"~$&+,;=",    // the user and password of a Go URL
}

func needsEscape(r rune) bool {
	return r >= utf8.RuneSelf || !letterOrDigit(byte(r)) && !strings.ContainsRune(unreserved, r)
}

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

func percent(s, keep, digits string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' && strings.HasSuffix(keep, " "):
			b.WriteByte('+')
		case letterOrDigit(c) || strings.IndexByte(unreserved, c) >= 0 || strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// jsonEscaper writes the inside of a JSON string in one of the ways that are in
// use.
type jsonEscaper struct {
	html   bool // < > & U+2028 U+2029, as Go's encoding/json does
	slash  bool // \/, as PHP does
	ascii  bool // everything beyond ASCII, as Python does
	digits string
}

const jsonShort = "\"\\\b\f\n\r\t"

func (e jsonEscaper) escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		short := strings.IndexRune(jsonShort, r)
		switch {
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[short])
		case r == '/' && e.slash:
			b.WriteString(`\/`)
		case r < ' ', e.html && strings.ContainsRune("<>&\u2028\u2029", r), e.ascii && r >= utf8.RuneSelf:
			e.writeUnicode(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// writeUnicode writes \uXXXX, twice for a character beyond the first 65536.
func (e jsonEscaper) writeUnicode(b *strings.Builder, r rune) {
	for _, u := range utf16.AppendRune(nil, r) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(e.digits[u>>shift&15])
		}
	}
}

// Forms are those in which a value is found, some of them twice.
func Forms(value string) []string { return spellings(value) }
