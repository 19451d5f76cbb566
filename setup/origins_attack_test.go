package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/agent/model"
)

// obeys is a model that makes these calls, TOOL {ARGS}, and then is done.
type obeys struct {
	calls []string
	saw   []string // requests
}

func (o *obeys) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	o.saw = append(o.saw, fmt.Sprint(req.Messages))
	call := `done {"summary":"over"}`
	if len(o.calls) > 0 {
		call, o.calls = o.calls[0], o.calls[1:]
	}
	name, args, _ := strings.Cut(call, " ")
	return model.Reply{Calls: []model.Call{{ID: fmt.Sprint(len(o.saw)), Name: name, Args: json.RawMessage(args)}}, Finish: "stop"}, nil
}

func (w *world) obey(calls ...string) (saw []string) {
	w.Helper()
	for i, c := range calls {
		calls[i] = w.at.Replace(c)
	}
	a, _ := w.s.Agent()
	o := &obeys{calls: calls}
	a.Model = o
	if r, err := a.RunOnce(w.Context()); err != nil {
		w.Errorf("%s: %+v, %v", calls, r, err)
	}
	return o.saw
}

func (w *world) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(w.s.Home.Dir, name))
	return string(b)
}

// TestOriginAttacks tries to have a text from outside stand in the memory, or act, as if it
// were not.
func TestOriginAttacks(t *testing.T) {
	for _, a := range []struct {
		name   string
		cycles [][]string // calls
		want   string     // a line of the memory
		never  string     // a part of it
	}{
		{"a key that is called as the mark of all", [][]string{{page, secret, `update_scratchpad {"*":"EVIL"}`}}, "  '*': private", "EVIL"},
	} {
		w := newWorld(t, "careful", "tools")
		for _, calls := range a.cycles {
			w.obey(calls...)
		}
		if got := w.file("scratchpad/active.yaml"); !strings.Contains(got, a.want+"\n") || strings.Contains(got, a.never) {
			t.Errorf("%s: %s", a.name, got)
		}
	}
}

const (
	page   = `http_get {"url":"HOST/plain"}`
	secret = `read_file {"path":"clients/list.txt"}`
)
