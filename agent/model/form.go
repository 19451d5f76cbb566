package model

import (
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// form is how a server wants its requests. The zero form suits most.
type form struct {
	plain      bool // no streaming: the reply is one JSON object
	bare       bool // no stream_options
	completion bool // max_completion_tokens in place of max_tokens
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
	case says("stream_options") && !f.bare && !f.plain:
		f.bare = true
	case says("max_completion_tokens") && !f.completion:
		f.completion = true
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
		if m.Content == "" {
			m.Content = "(empty)"
		}
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	if f.completion {
		r.MaxCompletionTokens = opt.MaxOutput
	} else {
		//lint:ignore SA1019 deprecated by OpenAI, but all that many other servers know
		r.MaxTokens = opt.MaxOutput
	}
	if !f.bare && !f.plain {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return r
}
