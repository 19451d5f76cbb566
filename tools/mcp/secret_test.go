package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/redact"
	"rouse/tools/mcp/mcptest"
)

// A secret that a server lists, or says in an answer, an error or beside them, is
// not in what models and people see nor in the lock file: neither whole nor, where
// something is cut, its first or its last part.
func TestSecretOfAServer(t *testing.T) {
	const secret = "canary-0123456789-abcdefgh"
	r := newRig(t)
	r.o.Redact = redact.New(map[string]string{"SHOP_TOKEN": secret})
	path := filepath.Join(r.dir, mcptest.LeakFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	keep := func(what string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		said[what] = string(text)
	}
	s := r.start(r.server("s", "leak"))
	keep("offers", s.Offers())
	keep("problems", append(s.Problems(), s.News()...))
	for _, tool := range s.Tools() {
		keep("tool "+tool.Name, []any{tool.Description, tool.Raw, fmt.Sprint(tool.Check([]byte(`{"kind":"b"}`)))})
	}
	if len(s.Tools()) != 3 {
		t.Errorf("%d tools", len(s.Tools()))
	}
	keep("error", call(t, s, "s__say", `{}`).Error)
	show := call(t, s, "s__show", `{}`)
	keep("type", show.Media[1].Type)
	keep("link", show.out[:strings.Index(show.out, "not fetched")])
	keep("end", call(t, r.start(r.server("t", "leak-die")), "t__say", `{}`).Error)
	lock, err := os.ReadFile(r.o.Pins)
	if err != nil {
		t.Fatal(err)
	}
	said["lock file"] = string(lock)
	for what, text := range said {
		if strings.Contains(text, secret[:8]) || strings.Contains(text, secret[len(secret)-8:]) {
			t.Errorf("%s: %s", what, text)
		}
	}
	if !strings.Contains(said["end"], "yyyy") {
		t.Errorf("the end does not say what the server said: %s", said["end"])
	}
}
