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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/tools"
)

// Unwrap makes a tool's result of the result of a call as it was on the wire: its
// texts go to out as they are, so that lines are lines; pictures and other binary
// content are media; structured content that no text repeats is appended as JSON.
// hide takes the secrets out of what is cut, before it is.
func Unwrap(out io.Writer, result json.RawMessage, hide *redact.Redactor) (tools.Result, error) {
	res := &sdk.CallToolResult{}
	if err := json.Unmarshal(result, res); err != nil {
		return tools.Result{}, fmt.Errorf("result of a call: %w", err)
	}
	return unwrapper{out: out, hide: hide}.unwrap(res, result), nil
}

// unwrap makes a tool's result of what the server gave: its texts go to out as
// they are, so that lines are lines; pictures and other binary content are
// media; structured content that no text repeats is appended as JSON. What is made
// one line, or cut, has lost its secrets before; for the rest out is the door.
// Nothing is said twice.
func (u unwrapper) unwrap(res *sdk.CallToolResult, raw json.RawMessage) tools.Result {
	for _, c := range res.Content {
		u.media = append(u.media, u.binary(c)...)
	}
	for _, c := range res.Content {
		u.content(c)
	}
	u.structured(structuredOf(res, raw))
	r := tools.Result{OK: !res.IsError}
	if res.IsError {
		r.Error = "the tool reports an error" + u.short()
	}
	if _, err := io.WriteString(u.out, strings.Join(u.texts, "\n")); err != nil {
		r.OK, r.Error = false, fmt.Sprintf("the result could not be kept: %v", err)
	}
	r.Media = u.media
	return r
}

type unwrapper struct {
	out   io.Writer
	hide  *redact.Redactor
	texts []string
	media []tools.Media
}

// text takes one text; several are apart by a line break.
func (u *unwrapper) text(s string) {
	u.texts = append(u.texts, strings.ToValidUTF8(s, "�"))
}

// binary gives the medium that a content is, if it is one.
func (u *unwrapper) binary(c sdk.Content) []tools.Media {
	switch c := c.(type) {
	case *sdk.ImageContent:
		return u.medium(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return u.medium(c.MIMEType, c.Data)
	case *sdk.EmbeddedResource:
		if c.Resource != nil && c.Resource.Blob != nil {
			return u.medium(c.Resource.MIMEType, c.Resource.Blob)
		}
	}
	return nil
}

func (u *unwrapper) medium(kind string, data []byte) []tools.Media {
	return []tools.Media{{Type: text.Words(u.hide.String(cmp.Or(kind, "application/octet-stream"))), Data: data}}
}

// content takes the text of a content.
func (u *unwrapper) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		u.text(u.lift(c.Text))
	case *sdk.EmbeddedResource:
		if c.Resource != nil && c.Resource.Blob == nil {
			u.text(u.lift(c.Resource.Text))
		}
	case *sdk.ResourceLink:
		u.text(u.pointer(c))
	case *sdk.ImageContent, *sdk.AudioContent:
	default:
		u.text(fmt.Sprintf("[content of type %T is not understood]", c))
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
	raw = json.RawMessage(u.lift(string(raw)))
	if len(raw) == 0 || string(raw) == "null" || u.repeats(raw) {
		return
	}
	var b bytes.Buffer
	if json.Indent(&b, u.hide.JSON(raw), "", "  ") == nil {
		u.text(b.String())
	}
}

// short takes the text of an error that is one short line: the error says it.
func (u *unwrapper) short() string {
	if len(u.texts) != 1 {
		return ""
	}
	said := strings.TrimSpace(u.hide.String(u.texts[0]))
	if said == "" || len(said) > 300 || strings.Contains(said, "\n") {
		return ""
	}
	u.texts = nil
	return ": " + text.Words(said)
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

// repeats says whether structured content tells nothing but the texts and the
// media: it is the JSON that the texts are, as it is or as {"result": …}, or these
// are all that it holds, as in {"content": text}.
func (u *unwrapper) repeats(raw json.RawMessage) bool {
	var v any
	if len(u.texts)+len(u.media) == 0 || json.Unmarshal(raw, &v) != nil {
		return false
	}
	said := make([]any, 0, len(u.texts))
	for _, s := range u.texts {
		var value any = s
		if json.Unmarshal([]byte(s), &value) != nil {
			value = s
		}
		said = append(said, value)
	}
	if len(said) == 1 && reflect.DeepEqual(v, said[0]) || u.within(v) {
		return true
	}
	o, ok := v.(map[string]any) // as FastMCP has it: an item is a text
	return ok && len(o) == 1 && (reflect.DeepEqual(o["result"], any(said)) || len(said) == 1 && reflect.DeepEqual(o["result"], said[0]))
}

func (u *unwrapper) within(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.Contains(u.texts, v) || u.isPlace(v)
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
