package scratchpad

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// typical is a state of about 20 KB.
func typical() string {
	var b strings.Builder
	b.WriteString("# the memory\ngoals:\n  - keep the site up\ncurrent_task: check the certificate\npending_actions: []\ncompleted_tasks:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  - task: check %d\n    summary: it answered in %d ms\n", i, i)
	}
	b.WriteString("notes: |\n")
	for i := range 160 {
		fmt.Fprintf(&b, "  [TOOL] shell({\"command\":\"date -u\"}) → {\"step\":%d,\"ok\":true,\"content\":\"Wed Apr  1 15:01:54 UTC 2026\"}\n", i)
	}
	b.WriteString("last_updated: '2026-04-01T15:01:54.203841'\n")
	return b.String()
}

func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "active.yaml")
	write(b, path, typical())
	b.SetBytes(int64(len(typical())))
	for b.Loop() {
		if _, err := Load(path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendNotes(b *testing.B) {
	s := mustParse(b, typical())
	for b.Loop() {
		mustApply(b, s.Clone(), Change{OpAppend, "notes", "\n[TOOL] echo({\"message\":\"hi\"}) → ECHO: hi"})
	}
}

func BenchmarkBytes(b *testing.B) {
	s := mustParse(b, typical())
	b.SetBytes(int64(len(typical())))
	for b.Loop() {
		next := s.Clone()
		mustApply(b, next, Change{OpAppend, "notes", "\n[TOOL] echo({\"message\":\"hi\"}) → ECHO: hi"}, Change{OpSet, "current_task", nil})
		mustBytes(b, next)
	}
}
