package dispatcher

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"rouse/scratchpad/observation"
	"rouse/tools"
)

// reader reads an observation as a model that collects what it is given.
type reader struct {
	t    *testing.T
	d    *Dispatcher
	id   string
	told strings.Builder // decoded, one after another
}

func (r *reader) read(args string) Observation {
	r.t.Helper()
	res := r.d.Reader().Run(r.t.Context(), tools.Call{Args: json.RawMessage(fmt.Sprintf(`{"scratchpad_id":%q,%s}`, r.id, args))})
	o := Observation{OK: res.OK, Content: res.Content, Error: res.Error}
	text, _ := o.Content.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if strings.Contains(args, `"hex"`) {
		data, err = hex.DecodeString(text)
	}
	if err != nil {
		data = []byte(text)
	}
	r.told.Write(data)
	return o
}

// check wants less than four bytes of the secret next to each other in all that was told.
func (r *reader) check(how string) {
	r.t.Helper()
	told := strings.ReplaceAll(r.told.String(), "[REDACTED:PASS]", "")
	for i := range len(secret) - 4 {
		if strings.Contains(told, secret[i:i+4]) {
			r.t.Errorf("%s tells %q of the secret: %q", how, secret[i:i+4], told)
			break
		}
	}
	r.told.Reset()
}

// A binary content is kept as it is, and a text that an earlier program kept may
// hold a secret that it did not know: neither can be read piece by piece.
func TestSecretInSlices(t *testing.T) {
	binary := strings.Repeat("\x00\xff{-}\n", 9) + `{"a":"` + secret + `"}` + strings.Repeat("\n{-}\xfe", 9)
	for kind, content := range map[string]string{"binary": binary, "text": strings.ToValidUTF8(strings.ReplaceAll(binary, "\x00", "é"), "ü")} {
		d, _ := withStore(t, saying(""))
		turn, err := d.Turn()
		if err != nil {
			t.Fatal(err)
		}
		w := turn.Create(observation.Origin{Step: 1, Executor: "much"})
		w.Write([]byte(content))
		e, err := w.Commit(nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{t: t, d: d, id: e.ID}
		for size := 1; size < len(secret); size += 2 {
			for _, encoding := range []string{"base64", "hex"} {
				for at := 0; at < len(content); at += size {
					r.read(fmt.Sprintf(`"mode":"range","start":%d,"end":%d,"encoding":%q`, at, at+size, encoding))
				}
				r.check(fmt.Sprintf("%s, range of %d in %s", kind, size, encoding))
			}
		}
		at := strings.Index(content, secret)
		for n := range len(secret) {
			r.read(fmt.Sprintf(`"mode":"head","n":%d`, at+n))
			r.read(fmt.Sprintf(`"mode":"tail","n":%d`, len(content)-at-n))
		}
		r.check(kind + ", head and tail")
		for line := range 20 {
			r.read(fmt.Sprintf(`"mode":"lines","start":%d,"end":%d`, line+1, line+2))
		}
		r.check(kind + ", lines")
		r.read(`"mode":"grep","pattern":"a"`)
		r.read(`"mode":"full"`)
		r.check(kind + ", grep and full")
		if kind == "text" {
			continue
		}
		for _, args := range []string{`"mode":"grep","pattern":"` + secret[:3] + `[a-z]"`, `"mode":"json","query":".a[0:3]"`} {
			if o := r.read(args); o.OK || !strings.Contains(o.Error, "holds a secret") {
				t.Errorf("%s: %+v", args, o)
			}
		}
	}
}

// What a server gives as a blob is kept without secrets if it is a text, and as it
// is if not; then it is not shown. Its type is a text of the server's.
func TestSecretInMedia(t *testing.T) {
	picture := "\x89PNG\r\n\x1a\n\x00" + strings.Repeat("\xff", 20)
	media := []tools.Media{
		{Type: "text/" + secret, Data: []byte("key: " + secret)},
		{Type: "image/png", Data: []byte(picture + secret)},
		{Type: "image/png", Data: []byte(picture)},
	}
	d, r := withStore(t, func(tools.Call) tools.Result { return tools.Result{OK: true, Media: media} })
	o := do(t, d, "much", `{}`)
	text, err := json.Marshal([]any{o, r.events, o.Images})
	if err != nil || strings.Contains(string(text), secret) || len(o.Images) != 1 || string(o.Images[0].Data) != picture {
		t.Errorf("%v, %d images: %s", err, len(o.Images), text)
	}
	list := o.Metadata["media"].([]any)
	if note := list[1].(map[string]any)["note"]; note != "not shown: it holds a secret" {
		t.Errorf("note %v", note)
	}
	for i, want := range []string{"key: [REDACTED:PASS]", picture + secret, picture} {
		data, err := d.whole(list[i].(map[string]any)["scratchpad_id"].(string))
		if err != nil || string(data) != want {
			t.Errorf("%d is kept as %q, %v", i, data, err)
		}
	}
	if string(media[1].Data) != picture+secret {
		t.Error("what the tool gave has changed")
	}
}

// A picture of an earlier step passes by reference: as it is into a file, as base64
// into arguments. A result without text is not an empty one.
func TestMediaByReference(t *testing.T) {
	picture := "\x89PNG\r\n\x1a\n\x00" + strings.Repeat("\xff", 100<<10)
	var got string
	d, _ := withStore(t, func(tools.Call) tools.Result {
		return tools.Result{OK: true, Media: []tools.Media{{Type: "image/png", Data: []byte(picture)}, {Type: "image/png", Data: []byte(picture + secret)}}}
	})
	type args struct {
		Body string `json:"body,omitempty"`
		Text string `json:"text,omitempty"`
	}
	keep := tools.New("keep", "Keeps.", func(_ context.Context, c tools.Call, a args) tools.Result {
		whole, _ := io.ReadAll(c.Text("body", a.Body))
		got = string(whole) + a.Text
		return tools.Result{OK: true}
	})
	keep.Streams = []string{"body"}
	set, err := tools.NewSet(append(d.Tools.All(), keep)...)
	if err != nil {
		t.Fatal(err)
	}
	d.Tools = set
	do(t, d, "much", `{}`)
	for _, tt := range []struct{ args, want, err string }{
		{args: `{"body":"{{step1.media.0}}"}`, want: picture},
		{args: `{"text":"{{step1.media.0}}"}`, want: base64.StdEncoding.EncodeToString([]byte(picture))},
		{args: `{"text":"data:{{step1.media.0.type}};base64,{{step1.media.0}}"}`, want: "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(picture))},
		{args: `{"body":"{{step1.media.1}}"}`, err: "media.1 cannot be passed on: not shown: it holds a secret"},
		{args: `{"body":"{{step1.media.2}}"}`, err: "the list has 2 items"},
		{args: `{"body":"{{step1.content}}"}`, err: "step 1 gave no text but 2 media: the first is {{step1.media.0}}"},
		{args: `{"body":"{{step2.content}}"}`, err: `step 2 gave no text; write "" where you mean an empty one`},
	} {
		got = ""
		if o := do(t, d, "keep", tt.args); o.OK != (tt.err == "") || !strings.Contains(o.Error, tt.err) || got != tt.want {
			t.Errorf("%s: %.200q, %d bytes", tt.args, o.Error, len(got))
		}
	}
}
