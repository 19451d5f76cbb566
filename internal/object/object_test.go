package object

import (
	"fmt"
	"testing"
)

// What is not changed stays byte for byte, whoever wrote it and however.
func TestByteForByte(t *testing.T) {
	const text = ` { "a" : 1.50 , "b":{ "a": 1e400 },"\u0063" : "x\u003c" ,"b" :[ ] } ` + "\n"
	for want, change := range map[string]func(*Object){
		text: func(*Object) {},
		` { "a" : 2 , "b":{ "a": 1e400 },"\u0063" : "x\u003c" ,"b" :[ ] } ` + "\n":          func(o *Object) { o.Set("a", []byte("2")) },
		` { "a" : 1.50 , "b":{ "a": 1e400 },"\u0063" : 3 ,"b" :[ ] } ` + "\n":               func(o *Object) { o.Set("c", []byte("3")) },
		` { "a" : 1.50 , "b":{ "a": 1e400 },"\u0063" : "x\u003c" ,"b" :4 } ` + "\n":         func(o *Object) { o.Set("b", []byte("4")) },
		` { "a" : 1.50 ,"\u0063" : "x\u003c"  } ` + "\n":                                    func(o *Object) { o.Remove("b") },
		` { "b":{ "a": 1e400 },"\u0063" : "x\u003c" ,"b" :[ ] } ` + "\n":                    func(o *Object) { o.Remove("a") },
		` { "a" : 1.50 , "b":{ "a": 1e400 },"\u0063" : "x\u003c" ,"b" :[ ],"d":5 } ` + "\n": func(o *Object) { o.Set("d", []byte("5")) },
	} {
		o, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if change(o); string(o.JSON()) != want {
			t.Errorf("\n got %q\nwant %q", o.JSON(), want)
		}
	}
}

func TestGet(t *testing.T) {
	o, err := Parse([]byte(`{"a":1,"a":"x","b":{"c":2},"d":null}`))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %s %s %s %s %s %v", o.Get("a"), o.String("a"), o.String("b"), o.Sub("b").Get("c"), o.Sub("a").Get("c"), o.Get("d"), o.Get("e") == nil)
	if want := `"x" x  2  null true`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := o.With("a", []byte("3")); string(got) != `{"a":1,"a":3,"b":{"c":2},"d":null}` || o.String("a") != "x" {
		t.Errorf("with: %s, and the object itself %s", got, o.JSON())
	}
}

func TestEmpty(t *testing.T) {
	for text, want := range map[string]string{"{}": `{"a":1}`, " { } ": ` {"a":1 } `, "": `{"a":1}`} {
		o := &Object{}
		if text != "" {
			o, _ = Parse([]byte(text))
		}
		if o.Set("a", []byte("1")); string(o.JSON()) != want {
			t.Errorf("%q: %q", text, o.JSON())
		}
	}
}

func TestNone(t *testing.T) {
	for _, text := range []string{"", "[]", "1", "null", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1} x`, `{"a":1}{}`, `{1:1}`} {
		if o, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is %q", text, o.JSON())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(` { "a" : 1 , "b":[ ] } `))
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := Parse(text); err == nil && string(o.JSON()) != string(text) {
			t.Errorf("%q became %q", text, o.JSON())
		}
	})
}
