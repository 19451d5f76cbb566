//go:build !race

package page

import (
	"encoding/base64"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"rouse/agent/approval"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/setup/report/weektest"
)

// wild is what an agent might write to get out of the text that it is.
const wild = `</pre></td></textarea></title></style></script>--><script class="evil">ran=1;alert(1)</script><img class="evil" src="https://evil.example/i" onerror="ran=2">` +
	`<a class="evil" href="javascript:ran=3">click</a> [here](https://evil.example/md) <https://evil.example/auto> https://evil.example/bare <form class="evil" action="https://evil.example/f"><button>OK</button></form>` +
	`<svg class="evil" onload="ran=4"><script>ran=5</script></svg><iframe class="evil" src="https://evil.example/frame"></iframe><style>@import "https://evil.example/css";</style><base href="https://evil.example/">` +
	`{{.}} {{template "main"}} ${ran=6} <meta http-equiv="refresh" content="0;url=https://evil.example/r"><link class="evil" rel="stylesheet" href="https://evil.example/l">'"` + "\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff \x1b[31m \x00 \x08 \r\nevent: set\ndata: <b class=evil>x</b>\n\n"

// hosted makes a home in which an agent wrote this into every field that it can.
func hosted(t testing.TB, folder, name, say string) {
	t.Helper()
	dir := filepath.Join(folder, name)
	h := home.Home{Dir: dir}
	first, last := "first "+say[:min(90, len(say))], "last "+say[max(0, len(say)-90):] // YAML wants them short
	memory := plain(map[string]any{"goals": []string{say}, "notes": say, first: say, last: say, "plan": map[string]string{first: say}, "pending": []any{say, map[string]any{"task": say, "check": say}}})
	write(t, filepath.Join(dir, "rules.md"), "You are Rouse.")
	write(t, filepath.Join(dir, "rouse.yaml"), "posture: careful\nschedule: '0 12 * * *'\n")
	write(t, filepath.Join(dir, "scratchpad", "active.yaml"), memory)
	write(t, h.Before(told), `{"goals": []}`)
	write(t, h.After(told), memory)
	write(t, h.Acts(), quoted(deed{V: 1, Session: say, Role: Role(say), From: say, What: say, On: say, Said: say})+"\n")
	cell := map[string]any{"id": say, "number": 1, "description": say, "code": say, "stdout": say, "stderr": say, "value": say, "html": say, "error": say, "ended": say, "logs": []string{say}, "notes": []string{say},
		"pictures": []any{map[string]string{"type": "image/png", "data": base64.StdEncoding.EncodeToString([]byte(png))}}}
	write(t, filepath.Join(dir, "notebooks", "sales", "cells.jsonl"), quoted(cell)+"\n")
	ids := parked(t, folder, name, holds(say), holds(png))
	now := weektest.Now().Add(-time.Hour)
	w, err := journal.Create(disk.OS{}, h.Journal(told), journal.NewChain(nil, told), func() time.Time { now = now.Add(time.Second); return now })
	must(t, err)
	defer w.Close()
	for _, p := range []journal.Payload{
		&journal.Wake{}, &journal.Made{}, &journal.Request{}, &journal.Reply{}, &journal.Intent{}, &journal.Policy{}, &journal.Approval{}, &journal.Started{}, &journal.Result{}, &journal.Parked{}, &journal.Note{},
		&journal.Prune{}, &journal.Protocol{}, &journal.Model{}, &journal.Warning{}, &journal.State{}, &journal.Limit{}, &journal.Retry{}, &journal.End{}, &journal.Sleep{},
	} {
		fill(reflect.ValueOf(p).Elem(), say)
		if r, ok := p.(*journal.Result); ok {
			r.ScratchpadID, r.Images = ids[0], nil // else it leads nowhere
		}
		if r, ok := p.(*journal.Parked); ok {
			r.ID = ids[0]
		}
		must(t, w.Append(p))
	}
	s, err := open(dir)
	must(t, err)
	for range 2 {
		e := approval.Entry{}
		fill(reflect.ValueOf(&e).Elem(), say)
		e.Args, e.Decision, e.Cycle, e.Carried, e.Outcome = quoted(map[string]string{say: say}), "", told, "", ""
		_, err = s.Approvals().Park(e)
		must(t, err)
	}
}

// fill puts a text into every field.
func fill(v reflect.Value, say string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(say)
	case reflect.Interface:
		v.Set(reflect.ValueOf(say))
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), say)
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, say)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(say).Convert(v.Type().Key()), e)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(quoted(map[string]string{say: say})))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), say)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type() != reflect.TypeFor[time.Time]() {
				fill(v.Field(i), say)
			}
		}
	}
}
