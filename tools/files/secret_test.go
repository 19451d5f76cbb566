package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/redact"
	"rouse/tools"
)

// A file that is cut at the limit, within a secret, leaves no part of it.
func TestSecretAtTheLimit(t *testing.T) {
	const secret = "canary-0123456789-abcdefgh"
	f := Folder{Workspace: t.TempDir(), Limit: 20}
	if err := os.WriteFile(filepath.Join(f.Workspace, "a"), []byte("xxx "+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tool := range f.Tools() {
		if tool.Name != "read_file" {
			continue
		}
		var out bytes.Buffer
		w := redact.New(map[string]string{"SHOP_TOKEN": secret}).Writer(&out)
		tool.Run(t.Context(), tools.Call{Args: []byte(`{"path":"a"}`), Output: w})
		w.Close()
		if !strings.HasPrefix(out.String(), "xxx \n[CUT") {
			t.Errorf("%q", out.String())
		}
	}
}
