package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"rouse/internal/frame"
)

// idKey is an id in a form in which that of a request and that of its answer are
// the same, whatever JSON library wrote them; "" is none.
func idKey(id json.RawMessage) string {
	var s string
	if len(id) == 0 || string(id) == "null" {
		return ""
	}
	if json.Unmarshal(id, &s) == nil {
		return "text " + s
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	if f, err := strconv.ParseFloat(string(id), 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return "other " + string(id)
}

// Codes of JSON-RPC errors that are ours.
const (
	codeInvalid = -32600 // no JSON-RPC, or too large
	codeEnded   = -32000 // the server is gone
)

// failure is an answer of ours to a request that gets no other.
func failure(id json.RawMessage, code int, why string) []byte {
	message, _ := json.Marshal(why) // a text always has a JSON form
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, orNull(id), code, message)
}

// each gives every message of a batch, as the protocol once had them, to change,
// and makes a batch of what that gives; else it is change itself.
func each(text []byte, change func([]byte) [][]byte) [][]byte {
	batch, ok := frame.Messages(text)
	if !ok {
		return change(text)
	}
	var out [][]byte
	for _, m := range batch {
		out = append(out, change(m)...)
	}
	if len(out) == 0 {
		return nil
	}
	return [][]byte{bytes.Join([][]byte{[]byte("["), bytes.Join(out, []byte(",")), []byte("]")}, nil)}
}
