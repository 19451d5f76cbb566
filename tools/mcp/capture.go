package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
)

type captureKey struct{}

// capture keeps the result of one request as the server wrote it. The library
// decodes it into values in which the order of keys and the digits of large
// numbers are lost.
type capture struct {
	max int64

	mu     sync.Mutex
	result json.RawMessage
	stream []byte // of HTTP, as it came
	done   bool   // nobody wants more
}

// withCapture lets the transports find c.
func withCapture(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

func (c *capture) set(result json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = result
}

func (c *capture) add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(len(c.stream)+len(p)) > c.max {
		c.stream, c.done = nil, true
	}
	if !c.done {
		c.stream = append(c.stream, p...)
	}
}

// raw is the result, or nil. It is called when the request has its answer.
func (c *capture) raw() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	if c.result != nil {
		return c.result
	}
	if r := resultOf(c.stream); r != nil {
		return r
	}
	var last json.RawMessage
	for line := range bytes.Lines(c.stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if r := resultOf(data); r != nil {
				last = r
			}
		}
	}
	return last
}

func resultOf(message []byte) json.RawMessage {
	var m struct {
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	return m.Result
}
