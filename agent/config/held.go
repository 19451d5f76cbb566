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
			fmt.Fprintf(b, "%s%s: %s\n", prefix, name, heldValue(value.Interface()))
		}
	}
}

func heldValue(v any) []byte {
	switch d := v.(type) {
	case Duration:
		return []byte(time.Duration(d).String())
	case Age:
		return []byte(time.Duration(d).String())
	}
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(fmt.Sprint(v)) // a value of YAML that JSON does not have
	}
	return text
}
