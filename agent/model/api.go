package model

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rouse/internal/lazy"
)

// APIs by which a server is asked.
const (
	Auto      = "auto"      // what the address says, or else what the server answers to
	Chat      = "chat"      // OpenAI's Chat Completions
	Responses = "responses" // OpenAI's Responses
	Messages  = "messages"  // Anthropic's Messages
)

// Server is where the paths of a server begin, and the API by which it is asked: the
// one that is given, or that the address names; "" is to be found out.
func Server(api, base string) (root, by string) {
	root, by = named(strings.TrimPrefix(api, Auto), base)
	if by == Messages && !strings.HasSuffix(root, "/v1") {
		root += "/v1" // which is mostly left out
	}
	return root, by
}

func named(api, base string) (root, by string) {
	root = strings.TrimRight(cmp.Or(base, "https://api.openai.com/v1"), "/")
	for _, named := range [][2]string{{"/chat/completions", Chat}, {"/responses", Responses}, {"/messages", Messages}} {
		if rest, ok := strings.CutSuffix(root, named[0]); ok {
			return rest, cmp.Or(api, named[1])
		}
	}
	if u, err := url.Parse(root); err == nil && (isAnthropic(u) || strings.HasSuffix(u.Path, "/anthropic")) {
		return root, cmp.Or(api, Messages)
	}
	return root, api
}

func isAnthropic(u *url.URL) bool { return strings.HasSuffix(u.Hostname(), ".anthropic.com") }

// path is where requests go.
func (f form) path(root string) string {
	switch {
	case f.api == Responses:
		return "/responses"
	case f.api == Messages && strings.HasSuffix(root, "/v1"):
		return "/messages"
	case f.api == Messages:
		return "/v1/messages"
	}
	return "/chat/completions"
}

// Authorize says with a request who asks. Anthropic takes its keys in a header of its
// own, and other servers that speak its API in either.
func Authorize(req *http.Request, api, key string) {
	if api == Messages {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	if key == "" {
		return
	}
	if api == Messages {
		req.Header.Set("X-Api-Key", key)
	}
	if api != Messages || !isAnthropic(req.URL) {
		req.Header.Set("Authorization", "Bearer "+key)
	}
}

// namesResponses matches how servers say that a model is asked by that API alone.
var namesResponses = lazy.Regexp{Expr: `(?i)v1/responses|\bresponses api\b`}

// seek notes whether a refusal may be one of the API.
func (f *failure) seek(told string) {
	told = strings.ToLower(told)
	status := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	f.missing = slices.Contains(status, f.status) && f.cause == nil && !strings.Contains(told, "model") && !strings.Contains(told, "no endpoints")
	if f.status >= 400 && f.status < 500 && namesResponses.Get().MatchString(told) {
		f.wants = Responses
	}
}

// elsewhere is the API to try after those that were tried, "" for none.
func (f *failure) elsewhere(tried []string) string {
	if f.wants != "" && !slices.Contains(tried, f.wants) {
		return f.wants
	}
	for _, api := range []string{Chat, Responses, Messages} {
		if f.missing && !slices.Contains(tried, api) {
			return api
		}
	}
	return ""
}

// object is one of JSON.
type object = map[string]any

// body is a request as it is sent.
func (f form) body(opt Options, req Request) ([]byte, error) {
	var r any
	switch f.api {
	case Responses:
		r = f.responses(opt, req)
	case Messages:
		r = f.messages(opt, req)
	default:
		r = f.request(opt, req)
	}
	text, err := json.Marshal(r)
	if f.plain {
		text = unstreamed(text)
	}
	if err != nil || opt.Style == "" {
		return text, err
	}
	return f.styled(text, opt.Style, req.Force != ""), nil
}

// styled is a body with what is to be added, each thing where the API has it.
func (f form) styled(body []byte, style string, forced bool) []byte {
	var s struct {
		Temperature json.RawMessage
		Effort      string `json:"reasoning_effort"`
		Extra       json.RawMessage
	}
	_ = json.Unmarshal([]byte(style), &s) // without which nothing is added
	add := object{}
	if s.Temperature != nil {
		add["temperature"] = s.Temperature
	}
	switch {
	case s.Effort == "":
	case f.api == Responses:
		add["reasoning"] = object{"effort": s.Effort}
	case f.api == Messages && s.Effort == "none":
		add["thinking"] = object{"type": "disabled"}
	case f.api == Messages:
		add["thinking"], add["output_config"] = object{"type": "adaptive"}, object{"effort": s.Effort}
	default:
		add["reasoning_effort"] = s.Effort
	}
	body = merge(merge(body, encode(add)), s.Extra)
	if forced && f.api == Messages { // who must call a tool may not think before
		body = merge(body, []byte(`{"thinking":null}`))
	}
	return body
}

// merge is a JSON value with a patch of RFC 7396.
func merge(value, patch json.RawMessage) json.RawMessage {
	var to, from map[string]json.RawMessage
	if len(patch) == 0 {
		return value
	}
	if json.Unmarshal(patch, &from) != nil {
		return patch
	}
	if json.Unmarshal(value, &to) != nil || to == nil {
		to = map[string]json.RawMessage{}
	}
	for key, v := range from {
		if to[key] = merge(to[key], v); string(v) == "null" {
			delete(to, key)
		}
	}
	return encode(to)
}

// part is one of an assistant's message: its text, a call, or what is kept as it came.
type part struct {
	text string
	call *Call
	kept json.RawMessage
}

// parts are those of an assistant's message in the order of the reply; of what is
// kept only what is of those types, as another API may have given it.
func (m Message) parts(types ...string) (list []part) {
	var kept []json.RawMessage
	_ = json.Unmarshal(m.Kept, &kept) // which a reply has
	calls, text := m.Calls, m.Content
	for _, k := range append(kept, []byte(`"text"`)) {
		var head struct{ Type string }
		switch {
		case string(k) == `"text"` && strings.TrimSpace(text) != "":
			list, text = append(list, part{text: text}), ""
		case string(k) == `"call"` && len(calls) > 0:
			list, calls = append(list, part{call: &calls[0]}), calls[1:]
		case json.Unmarshal(k, &head) == nil && slices.Contains(types, head.Type):
			list = append(list, part{kept: k})
		}
	}
	for i := range calls {
		list = append(list, part{call: &calls[i]})
	}
	if len(m.Calls) == 0 && strings.TrimSpace(m.Content) == "" {
		list = append(list, part{text: "(empty)"})
	}
	return list
}

// keep adds to what is kept of a reply, of which nothing is where all are marks.
func (r *Reply) keep(list []json.RawMessage) {
	if slices.ContainsFunc(list, func(k json.RawMessage) bool { return k[0] == '{' }) {
		r.Kept = encode(list)
	}
}

// said is a text that no server takes for none.
func said(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(empty)"
	}
	return text
}
