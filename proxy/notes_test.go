package proxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
)

// A proxy that was killed in the middle of a note takes none of a later one with it.
func TestNotesAfterHalfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.jsonl")
	if err := os.WriteFile(path, []byte(`{"v":1,"ti`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := Log{FS: disk.OS{}, Path: path, Session: "s", Now: func() time.Time { return time.Unix(0, 0).UTC() }}
	if err := l.write(record{Event: "note", Text: "later"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "{\"v\":1,\"ti\n{") {
		t.Errorf("%q %v", text, err)
	}
}
