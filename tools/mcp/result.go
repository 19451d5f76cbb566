package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/tools"
)

// unwrap makes a tool's result of what the server gave: its texts go to out as
// they are, so that lines are lines; pictures and other binary content are
// media; structured content that no text repeats is appended as JSON. What is made
// one line, or cut, has lost its secrets before; for the rest out is the door.
func (u unwrapper) unwrap(res *sdk.CallToolResult, raw json.RawMessage) tools.Result {
	for _, c := range res.Content {
		u.content(c)
	}
	u.structured(structuredOf(res, raw))
	r := tools.Result{OK: !res.IsError && u.err == nil, Media: u.media}
	switch {
	case u.err != nil:
		r.Error = fmt.Sprintf("the result could not be kept: %v", u.err)
	case res.IsError:
		r.Error = "the tool reports an error" + u.first()
	}
	return r
}

type unwrapper struct {
	out   io.Writer
	hide  *redact.Redactor
	texts []string
	media []tools.Media
	err   error
}

// text writes one text; several are apart by a line break.
func (u *unwrapper) text(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	if len(u.texts) > 0 && u.err == nil {
		_, u.err = io.WriteString(u.out, "\n")
	}
	if u.err == nil {
		_, u.err = io.WriteString(u.out, s)
	}
	u.texts = append(u.texts, s)
}

func (u *unwrapper) binary(kind string, data []byte) {
	kind = cmp.Or(kind, "application/octet-stream")
	u.media = append(u.media, tools.Media{Type: text.Words(u.hide.String(kind)), Data: data})
}

func (u *unwrapper) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		u.text(c.Text)
	case *sdk.ImageContent:
		u.binary(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		u.binary(c.MIMEType, c.Data)
	case *sdk.EmbeddedResource:
		u.resource(c.Resource)
	case *sdk.ResourceLink:
		u.text(u.pointer(c))
	default:
		u.text(fmt.Sprintf("[content of type %T is not understood]", c))
	}
}

func (u *unwrapper) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		u.binary(r.MIMEType, r.Blob)
	default:
		u.text(r.Text)
	}
}

// pointer says in one line where something is. We do not fetch it.
func (u *unwrapper) pointer(c *sdk.ResourceLink) string {
	s := "[resource " + text.Words(u.hide.String(c.URI))
	if c.Name != "" {
		s += " " + quoted(u.hide.String(c.Name))
	}
	if c.MIMEType != "" {
		s += ", " + text.Words(u.hide.String(c.MIMEType))
	}
	if c.Size != nil {
		s += fmt.Sprintf(", %d bytes", *c.Size)
	}
	return s + ", not fetched]"
}

// structured appends JSON that the texts do not say already.
func (u *unwrapper) structured(raw json.RawMessage) {
	if raw == nil || string(raw) == "null" || u.repeats(raw) {
		return
	}
	var b bytes.Buffer
	if json.Indent(&b, u.hide.JSON(raw), "", "  ") == nil {
		u.text(b.String())
	}
}

// first is the beginning of the first text, for an error.
func (u *unwrapper) first() string {
	if len(u.texts) == 0 || strings.TrimSpace(u.texts[0]) == "" {
		return ""
	}
	return ": " + text.Brief(text.CutBytes(u.hide.String(u.texts[0]), 1000), 200)
}

func structuredOf(res *sdk.CallToolResult, raw json.RawMessage) json.RawMessage {
	if res.StructuredContent == nil {
		return nil
	}
	var exact struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(raw, &exact) == nil && exact.StructuredContent != nil {
		return exact.StructuredContent
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil
	}
	return data
}

// repeats says whether structured content tells nothing but the texts: it is
// the JSON that a text is, or texts are all that it holds, as in {"content": text}.
func (u *unwrapper) repeats(raw json.RawMessage) bool {
	var v, said any
	if len(u.texts) == 0 || json.Unmarshal(raw, &v) != nil {
		return false
	}
	if len(u.texts) == 1 && json.Unmarshal([]byte(u.texts[0]), &said) == nil && reflect.DeepEqual(v, said) {
		return true
	}
	return u.within(v)
}

func (u *unwrapper) within(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.Contains(u.texts, v)
	case map[string]any:
		for _, e := range v {
			if !u.within(e) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !u.within(e) })
	}
	return false
}
