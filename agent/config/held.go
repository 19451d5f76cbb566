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
	hold(&b, "", reflect.ValueOf(c))
	return b.Bytes()
}

// hold writes the fields of a struct.
func hold(b *bytes.Buffer, prefix string, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch value := v.Field(i); {
		case !f.IsExported():
		case option == "inline":
			hold(b, prefix, value)
		case value.Kind() == reflect.Struct:
			hold(b, prefix+name+".", value)
		default:
			b.WriteString(prefix + name + ": ")
			b.Write(heldValue(value))
			b.WriteByte('\n')
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
