package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rouse/internal/lazy"
	"rouse/tools"
)

// minLift is from which length on base64 is looked at, in characters.
const minLift = 128

// dataURI matches what may stand before base64.
var dataURI = lazy.Regexp{Expr: `data:([A-Za-z0-9.+/-]+)(;[A-Za-z0-9=.-]+)*;base64,$`}

// lift takes the binary content out of a text in which it stands as base64: it
// becomes media, or is one of these already, and a few words are in its place.
func (u *unwrapper) lift(s string) string {
	for i, m := range u.media {
		if len(m.Data) > 0 && len(m.Data) < minLift {
			s = strings.ReplaceAll(s, base64.StdEncoding.EncodeToString(m.Data), u.placeOf(i))
		}
	}
	var b strings.Builder
	for rest := s; ; {
		start, end := run(rest)
		if start < 0 {
			if b.Len() == 0 {
				return s
			}
			b.WriteString(rest)
			return b.String()
		}
		before := rest[:start]
		place, uri := u.place(before[max(0, len(before)-200):], rest[start:end])
		if place == "" {
			place = rest[start:end]
		}
		b.WriteString(before[:len(before)-uri])
		b.WriteString(place)
		rest = rest[end:]
	}
}

// run finds the first run of characters of base64 that is long enough; JSON may
// have escaped the slashes in it.
func run(s string) (start, end int) {
	start = -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && (isBase64(s[i]) || s[i] == '\\' && i+1 < len(s) && s[i+1] == '/') {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= minLift {
			for i < len(s) && s[i] == '=' {
				i++
			}
			return start, i
		}
		start = -1
	}
	return -1, -1
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/'
}

// place gives what stands for a run of base64, "" where it is no content that is
// known to be binary, and the length of the data URI's beginning before it.
func (u *unwrapper) place(before, encoded string) (place string, uri int) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.ReplaceAll(encoded, `\/`, "/"), "="))
	if err != nil {
		return "", 0
	}
	m := dataURI.Get().FindStringSubmatch(before)
	i := slices.IndexFunc(u.media, func(m tools.Media) bool { return bytes.Equal(m.Data, data) })
	if kind := http.DetectContentType(data); i < 0 {
		switch {
		case m != nil:
			kind = m[1]
		case kind == "application/octet-stream" || strings.HasPrefix(kind, "text/"):
			return "", 0
		}
		i = len(u.media)
		u.media = append(u.media, u.medium(kind, data)...)
	}
	if m != nil {
		uri = len(m[0])
	}
	return u.placeOf(i), uri
}

func (u *unwrapper) placeOf(i int) string {
	return fmt.Sprintf("[media %d: %s, %d bytes]", i, u.media[i].Type, len(u.media[i].Data))
}

// isPlace says whether a text is one that stands for a medium.
func (u *unwrapper) isPlace(s string) bool {
	for i := range u.media {
		if s == u.placeOf(i) {
			return true
		}
	}
	return false
}
