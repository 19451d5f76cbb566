package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"rouse/internal/lazy"
)

// Value is one that holds, as `rouse config show` says it.
type Value struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	// From is default, posture and its word, file:line, or a variable.
	From string `json:"from"`
}

// Shown are the values that hold under a key, "" for all; variable says where one of the
// environment comes from. Of addresses, what may be a secret is left out.
func (c Config) Shown(key string, variable func(name string) string) (list []Value) {
	hold("", reflect.ValueOf(c), func(k string, value []byte) {
		if key != "" && k != key && !strings.HasPrefix(k, key+".") {
			return
		}
		text := credentials.Get().ReplaceAllString(string(value), "$1")
		if oneOf(k, "notify", "heartbeat") { // whose paths prove who sends
			text = path.Get().ReplaceAllString(text, "$1/…")
		}
		if !json.Valid([]byte(text)) {
			data, _ := json.Marshal(text) // a text is text
			text = string(data)
		}
		list = append(list, Value{k, json.RawMessage(text), c.from(k, variable)})
	})
	return list
}

// credentials match an address up to the host, and path one with its path.
var (
	credentials = lazy.Regexp{Expr: `(https?://)[^/@"\s]*@`}
	path        = lazy.Regexp{Expr: `(https?://[^/"\s]+)/[^"\s]+`}
)

// from says where the value of a key comes from.
func (c Config) from(key string, variable func(string) string) string {
	line, _, whole := locate(parse(c.text), key)
	at := fmt.Sprintf("%s:%d", c.name, line)
	switch {
	case key == "model.name" && c.named:
		return variable("ROUSE_MODEL")
	case key == "model.base_url" && c.elseURL:
		return variable("OPENAI_BASE_URL")
	case key == "model.provider" && c.auto:
		return "auto"
	case whole:
		return at
	case c.Posture != NoPosture && oneOf(key, "sandbox.mode", "sandbox.read", "sandbox.network", "sandbox.unix_sockets", "sandbox.memory", "sandbox.processes"):
		return "posture " + string(c.Posture)
	}
	return "default"
}
