package approval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Five hundred calls wait and no more; of two people who answer at once the first one is
// heard, and what a person wrote into the file stays.
func TestFile(t *testing.T) {
	now, dir := time.Date(2026, 4, 1, 15, 0, 0, 0, time.UTC), t.TempDir()
	f := &File{Path: filepath.Join(dir, "approvals.yaml"), Lock: filepath.Join(dir, "lock"), Now: func() time.Time { return now }, Expire: time.Hour}
	id, err := f.Park(Entry{Tool: "shell", Args: `{"command":"git push"}`})
	if again, same := f.Park(Entry{Tool: "shell", Args: `{"command":"git push"}`}); err != nil || same != nil || again != id {
		t.Fatal(id, err, again, same)
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	many := strings.Replace(string(text), "- id:", "# mine\n- id:", 1)
	for i := range maxOpen - 2 {
		many += fmt.Sprintf("- {id: x%d, expires: 2026-04-01T17:00:00Z, tool: shell, args: '{}', sha256: '%d', more: kept}\n", i, i)
	}
	if err := os.WriteFile(f.Path, []byte(many), 0o600); err != nil {
		t.Fatal(err)
	}
	_, last := f.Park(Entry{Tool: "mail", Args: "{}"})
	_, full := f.Park(Entry{Tool: "mail", Args: "{} "})
	if last != nil || full == nil || !strings.HasPrefix(full.Error(), "500 calls wait for an answer already") {
		t.Error(last, full)
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, decision := range []string{Approve, Deny} {
		wg.Go(func() { _, errs[i] = f.Answer(id[:5], decision, decision+"r", "") })
	}
	wg.Wait()
	list, err := f.Load()
	if err != nil || (errs[0] == nil) == (errs[1] == nil) {
		t.Fatal(err, errs)
	}
	e := list.Entries[0]
	if lost := fmt.Sprint(errs); !strings.Contains(lost, fmt.Sprintf("%s has an answer already: %s by %[2]sr at ", id, e.Decision)) {
		t.Error(lost, e)
	}
	if text := string(list.text); !strings.Contains(text, "# mine\n") || !strings.HasPrefix(text, "# Calls that wait") || strings.Count(text, "more: kept") != maxOpen-2 {
		t.Error(text[:500])
	}
	now = now.Add(40 * 24 * time.Hour)
	if err := f.Update(func(l *List) error { l.Entries[0].Outcome = Denied; l.Set(l.Entries[0]); return nil }); err != nil {
		t.Fatal(err)
	}
	if list, err := f.Load(); err != nil || len(list.Entries) != maxOpen-1 {
		t.Error(err, len(list.Entries))
	}
	for text, want := range map[string]string{
		"- {id: a}\n- {id: a}\n": "line 2: every call has an id of its own", "- {id: a, decision: yes}\n": "line 1: decision is approve or deny", "- id: [\n": "line ",
	} {
		_ = os.WriteFile(f.Path, []byte(text), 0o600)
		_, err := f.Park(Entry{Tool: "shell", Args: "{}"})
		if now, _ := os.ReadFile(f.Path); err == nil || !strings.Contains(err.Error(), want) || string(now) != text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestWithdraw: what had begun when it was withdrawn is unknown, not undone.
func TestWithdraw(t *testing.T) {
	dir := t.TempDir()
	f := &File{Path: filepath.Join(dir, "approvals.yaml"), Lock: filepath.Join(dir, "lock"), Now: time.Now, Expire: time.Hour}
	for _, args := range []string{`{"a":1}`, `{"a":2}`} {
		if _, err := f.Park(Entry{Tool: "shell", Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(l *List) error { l.Entries[0].Carried = "20260401_150000"; l.Set(l.Entries[0]); return nil }
	if err := f.Update(begin); err != nil {
		t.Fatal(err)
	}
	if err := f.Withdraw("the home was reset"); err != nil {
		t.Fatal(err)
	}
	list, err := f.Load()
	if err != nil || list.Entries[0].State(time.Now()) != Unknown || list.Entries[1].State(time.Now()) != Withdrawn {
		t.Error(err, list)
	}
}
