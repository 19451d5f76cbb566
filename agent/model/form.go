package model

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"rouse/internal/lazy"
)

// form is how a server wants its requests. The zero form suits most.
type form struct {
	api        string
	plain      bool // no streaming: the reply is one JSON object
	bare       bool // no stream_options, nothing to be included
	completion bool // max_completion_tokens in place of max_tokens
	blind      bool // no images
}

// String names what is not as it suits most.
func (f form) String() string {
	var words []string
	if f.api == Responses || f.api == Messages {
		words = []string{f.api}
	}
	for _, w := range []struct {
		is   bool
		word string
	}{{f.plain, "plain"}, {f.bare, "bare"}, {f.completion, "completion"}, {f.blind, "blind"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// Body is a request as a [Client] sends it to a server that wants the form that
// a [Reply] names; an empty one is that in which a client asks first.
func Body(opt Options, req Request, form string) ([]byte, error) {
	f := parseForm(form)
	if form == "" {
		f.completion = completionTokens(opt.Name)
	}
	return f.body(opt, req)
}

func parseForm(text string) form {
	words := strings.Fields(text)
	api := Chat
	if len(words) > 0 && (words[0] == Responses || words[0] == Messages) {
		api = words[0]
	}
	return form{
		api:   api,
		plain: slices.Contains(words, "plain"), bare: slices.Contains(words, "bare"),
		completion: slices.Contains(words, "completion"), blind: slices.Contains(words, "blind"),
	}
}

// completionTokens reports whether go-openai and OpenAI's own server refuse
// max_tokens for this model. Other servers, Ollama for one, know only max_tokens.
func completionTokens(name string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(family string) bool {
		return strings.HasPrefix(name, family)
	})
}

// without returns the form that does without what the server refused, and
// whether there is one. Each thing is given up once, so that asking again ends.
func (f form) without(fail *failure) (form, bool) {
	refusals := []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented}
	says := func(word string) bool { return strings.Contains(fail.text, word) }
	switch {
	case !slices.Contains(refusals, fail.status):
		return f, false
	case (says("stream_options") && !f.plain || f.api == Responses && (says("include") || strings.Contains(strings.ToLower(fail.text), "encrypted"))) && !f.bare:
		f.bare = true
	case says("max_completion_tokens") && !f.completion:
		f.completion = true
	case says("image") && !f.blind:
		f.blind = true
	case says("stream") && !f.plain:
		f.plain = true
	default:
		return f, false
	}
	return f, true
}

// request is what go-openai sends. It leaves out empty content, which several
// servers then miss, so that an empty message says that it is empty.
func (f form) request(opt Options, req Request) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: opt.Name, Stream: true}
	for _, m := range req.Messages {
		r.Messages = append(r.Messages, f.message(m))
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if req.Force != "" {
		r.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: req.Force}}
	}
	most := req.most(opt)
	if f.completion {
		r.MaxCompletionTokens = most
	} else {
		//lint:ignore SA1019 deprecated by OpenAI, but all that many other servers know
		r.MaxTokens = most
	}
	if !f.bare && !f.plain {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return r
}

// most is how many tokens a reply may have, 0 for as many as the server likes.
func (r Request) most(opt Options) int {
	if r.MaxOutput > 0 && (opt.MaxOutput == 0 || r.MaxOutput < opt.MaxOutput) {
		return r.MaxOutput
	}
	return opt.MaxOutput
}

func (f form) message(m Message) openai.ChatCompletionMessage {
	msg := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.Call}
	for _, c := range m.Calls {
		msg.ToolCalls = append(msg.ToolCalls, openai.ToolCall{
			ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Name, Arguments: string(c.Args)},
		})
	}
	if msg.Content == "" && len(msg.ToolCalls) == 0 {
		msg.Content = "(empty)"
	}
	if len(m.Images) == 0 || f.blind {
		return msg
	}
	msg.Content, msg.MultiContent = "", []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: m.Content}}
	for _, i := range m.Images {
		msg.MultiContent = append(msg.MultiContent, openai.ChatMessagePart{
			Type:     openai.ChatMessagePartTypeImageURL,
			ImageURL: &openai.ChatMessageImageURL{URL: i.url()},
		})
	}
	return msg
}

// url is the picture as an address that holds it.
func (i Image) url() string {
	return "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// refusesTools matches how servers say that they, or a model, take no tools, and
// tooLong how they say that a request is too long for a model. The texts are
// those of OpenAI, Ollama, llama.cpp, vLLM, LM Studio and OpenRouter.
var (
	refusesTools = lazy.Regexp{Expr: `(?i)\b(not|n't|no)\b.{0,40}\bsupport\w*\b.{0,40}\b(tools?|functions?)\b|` +
		`\b(tools?|functions?)\b.{0,40}\b(not|n't|un)\s?(be )?(support|available|allowed|implement)|` +
		`support tool use|\btools?( choice| param)?\b.{0,20}\brequires\b|(unknown|unrecognized|unexpected|extra)\b.{0,40}\btools?\b`}
	tooLong = lazy.Regexp{Expr: `(?i)context.{0,12}(length|window|size|limit)|maximum context|(prompt|input|request|message)s?\b.{0,20}too (long|large)|` +
		`too many (input )?tokens|exceeds?.{0,40}\b(context|tokens?)\b|reduce the length`}
)

// reason tells whether a refusal can be answered by asking otherwise.
func reason(status int, text string) error {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests:
		return nil
	case tooLong.Get().MatchString(text) || status == http.StatusRequestEntityTooLarge:
		return ErrTooLong
	case refusesTools.Get().MatchString(text):
		return ErrNoTools
	}
	return nil
}
