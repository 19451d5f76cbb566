// Package model asks a language model for the next actions.
//
// The agent needs one method, Reply(ctx, [Request]) ([Reply], error), and two
// types here have it: [Client] asks a server by one of three APIs, and [Offline]
// carries out tasks that are written as calls, without any network. An API is how a
// request is written (form.go, responses.go, messages.go) and how the events of a
// reply are read; all else, client.go and exchange.go, they share. This is the only
// package that knows go-openai.
package model

import (
	"encoding/json"
	"errors"
	"time"
)

// Roles of a [Message].
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Result    = "tool" // what a call gave back
)

// Message is one entry of a request.
type Message struct {
	Role    string
	Content string
	// Calls are what an assistant's message asked for, and Call is the id of the
	// one that a result answers.
	Calls []Call
	Call  string
	// Images are shown beside the content of a user's message.
	Images []Image
	// Kept is that of the reply that an assistant's message was.
	Kept json.RawMessage
}

// Image is a picture for models that can see.
type Image struct {
	Type string // the media type, as image/png
	Data []byte
	Sum  string // the SHA-256 of Data, where it is known
}

// Tool is what a model may call natively.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage // a JSON Schema
}

// Request is what a model is asked.
type Request struct {
	Messages []Message
	// Tools, where there are any, ask for native calls.
	Tools []Tool
	// Force, unless empty, names the tool that must be called.
	Force string
	// MaxOutput bounds the answer, in tokens, below what the client was set to; 0
	// does not.
	MaxOutput int
	// API, unless empty, is the one that the server is known to answer to, where a
	// client finds that out.
	API string
	// Hurry says that another model can be asked: this one is asked again once at most.
	Hurry bool
	// OnRetry, if set, is told before each wait for another attempt. Attempts
	// count from 1.
	OnRetry func(attempt int, wait time.Duration, err error)
}

// Reply is what a model answered.
type Reply struct {
	// Text is the answer, without reasoning that the server sent apart.
	Text string
	// Refusal is why the model does not answer, where it says so apart.
	Refusal string
	// Calls are the native tool calls of the answer, in order.
	Calls []Call
	// Usage is what the server counted, zero where it did not say.
	Usage Usage
	// Finish is the server's reason to stop, "stop" or "length" for most, and
	// [Unreadable] where it could not read what the model wrote, which is Text.
	Finish string
	// Warning says what was wrong with an answer that can be used.
	Warning string
	// Form is how the server wants requests, as [Body] takes it, and Told what was
	// added at the end of this one.
	Form, Told string
	// API is the one that the client found out, "" for [Chat].
	API string
	// Kept, unless nil, is the model's reasoning as its server wants it back with the
	// calls: a list in the order of the reply, where "text" and "call" stand for these.
	Kept json.RawMessage
}

// Unreadable is how Groq says that a model's call was not what it understands.
const Unreadable = "tool_use_failed"

// Call is a native tool call.
type Call struct {
	// ID is unique in the reply: one that is missing or repeated is replaced.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is always JSON: {} where there were none, and a string that holds
	// them where the model wrote something that is not JSON.
	Args json.RawMessage `json:"args"`
}

// What a server refuses for a reason that asking otherwise can mend.
var (
	// ErrNoTools says that the server, or this model on it, takes no tools.
	ErrNoTools = errors.New("no native tool calling")
	// ErrTooLong says that the request is longer than what the model can read.
	ErrTooLong = errors.New("request too long for the model")
)

// Usage counts tokens.
type Usage struct {
	Input     int `json:"input"`
	Cached    int `json:"cached,omitempty"`  // of Input, those read from a cache
	Written   int `json:"written,omitempty"` // of Input, those written into a cache
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitempty"` // of Output
}
