package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Held is the configuration that holds, defaults and environment included: one
// value a line, under its key in rouse.yaml.
func (c Config) Held() []byte {
	var b bytes.Buffer
	hold("", reflect.ValueOf(c), func(key string, value []byte) {
		b.WriteString(key + ": ")
		b.Write(value)
		b.WriteByte('\n')
	})
	return b.Bytes()
}

// hold gives the fields of a struct.
func hold(prefix string, v reflect.Value, give func(key string, value []byte)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch value := v.Field(i); {
		case !f.IsExported():
		case option == "inline":
			hold(prefix, value, give)
		case value.Kind() == reflect.Struct:
			hold(prefix+name+".", value, give)
		default:
			give(prefix+name, heldValue(value))
		}
	}
}

// heldValue is a value as JSON. For what is empty the encoder is not asked: it
// looks into the types of all that could be there.
func heldValue(v reflect.Value) []byte {
	switch d := v.Interface().(type) {
	case Duration:
		return []byte(time.Duration(d).String())
	case Age:
		return []byte(time.Duration(d).String())
	}
	if kind := v.Kind(); (kind == reflect.Slice || kind == reflect.Map) && v.IsNil() {
		return []byte("null")
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Append(nil, v.Interface()) // a value of YAML that JSON does not have
	}
	return text
}
