package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/internal/sweep"
	"rouse/scratchpad"
)

// A memory above the limit is refused before it is read; below it the program
// works, and says from 512 KiB on that it is large.
func TestLargeMemory(t *testing.T) {
	t.Parallel()
	text := func(size int) string {
		const head, tail = "current_task: look\nnotes: |\n", "goals: []\n"
		line := "  " + strings.Repeat("x", 97) + "\n"
		n := size - len(head) - len(tail)
		return head + strings.Repeat(line, n/len(line)-1) + "  " + strings.Repeat("y", n%len(line)+len(line)-3) + "\n" + tail
	}
	items := func(size int) string {
		const head, item = "current_task: look\npending_actions:\n", "- a\n"
		return head + strings.Repeat(item, (size-len(head))/len(item))
	}
	type large struct {
		name string
		text string
		size int64
		ok   bool
	}
	tests := []large{
		{"1 MB", text(1 << 20), 1 << 20, true},
		{"256 KB of small items", items(256 << 10), 0, true},
		{"8 MB and 1 byte", text(8<<20 + 1), 8<<20 + 1, false},
		{"100 MB", "", 100 << 20, false},
		{"1 GB", "", 1 << 30, false},
	}
	if sweep.Of(false, true, true) {
		tests = append(tests, large{"4 MB", text(4 << 20), 4 << 20, true}, large{"8 MB", text(8 << 20), 8 << 20, false}, // nothing can be added
			large{"1 MB of small items", items(1 << 20), 0, true})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.write("scratchpad/active.yaml", tt.text)
			if tt.text == "" {
				if err := os.Truncate(r.path("scratchpad/active.yaml"), tt.size); err != nil {
					t.Skip(err) // a disk without sparse files
				}
			}
			s := r.serve(done())
			r.measured("status")
			got := r.measured("run")
			if tt.size > scratchpad.MaxBytes {
				got.oneLine(t, "scratchpad/active.yaml", "limit")
				if got.code != 2 || len(s.Requests()) > 0 || len(r.glob("scratchpad/*_before.yaml")) > 0 {
					t.Errorf("exit %d with %d requests", got.code, len(s.Requests()))
				}
			}
			if tt.ok && got.code != 0 {
				t.Errorf("exit %d with %s", got.code, got.stderr)
			}
			t.Logf("exit %d %s", got.code, strings.TrimSpace(got.stderr))
		})
	}
}

// measured runs the program and logs what it took.
func (r *rig) measured(verb string) outcome {
	r.t.Helper()
	cmd, cancel := r.command(verb)
	defer cancel()
	began := time.Now()
	got := r.finish(cmd, cmd.Start)
	took := time.Since(began)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		// What this test used when it started the program counts too.
		r.t.Logf("%-6s %6d ms, peak at most %4d MiB", verb, took.Milliseconds(), usage.Maxrss>>10) // KiB on Linux
	}
	return got
}

// Files that are no memory: exit 2, one line with the file and the place, not one
// byte or the time changed, no request, no snapshot.
func TestBadMemory(t *testing.T) {
	t.Parallel()
	utf16 := "\xff\xfeg\x00o\x00a\x00l\x00s\x00:\x00 \x00[\x00]\x00\n\x00"
	tests := []struct{ name, text, want string }{
		{"UTF-16", utf16, "UTF-16"},
		{"invalid UTF-8", "goals: []\nnotes: \xff\xfe\n", "line 2"},
		{"NUL", "goals: []\nnotes: \"a\x00b\"\n", "line 2"},
		{"tab indent", "goals:\n\t- a\n", "line 2"},
		{"unclosed quote", "goals: []\nnotes: \"a\n", "line 2"},
		{"unclosed list", "notes: a\ngoals: [a, b\n", "line"},
		{"merge conflict", "goals: []\n<<<<<<< HEAD\nnotes: a\n=======\nnotes: b\n>>>>>>> x\n", "line 2"},
		{"alias bomb", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "line"},
		{"an alias of itself", "a: &a [*a]\n", "line 1"},
		{"merge keys", "a: &a {b: 1}\nc:\n  <<: *a\n", "line"},
		{"duplicate keys", "notes: a\ngoals: []\nnotes: b\n", "line 3"},
		{"two documents", "notes: a\n---\nnotes: b\n", "line 2"},
		{"a list", "- a\n- b\n", "line 1"},
		{"a text", "hello\n", "line 1"},
		{"notes a number", "goals: []\nnotes: 42\n", "line 2"},
		{"goals a text", "goals: be good\n", "line 1"},
		{"a language tag", "a: !!python/object:os.system x\n", "line 1"},
		{"binary", "goals: []\na: !!binary aGVsbG8=\n", "line 2"},
		{"a key that is no text", "goals: []\n42: a\n", "line 2"},
		{"deep", "a: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "\n", "line 1"},
	}
	requests := 0
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			s := r.serve(done())
			r.write("scratchpad/active.yaml", tt.text)
			before, err := os.Stat(r.path("scratchpad/active.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, verb := range []string{"run", "status"} {
				got := r.rouse(verb)
				if got.code != 2 {
					t.Errorf("%s: exit %d", verb, got.code)
				}
				got.oneLine(t, "scratchpad/active.yaml: ", tt.want)
			}
			after, err := os.Stat(r.path("scratchpad/active.yaml"))
			if err != nil || r.read("scratchpad/active.yaml") != tt.text || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("the file was touched: %v", err)
			}
			if left := append(r.glob("scratchpad/*_*.yaml"), r.glob("logs/*")...); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			requests += len(s.Requests())
			if got := r.rouse("reset"); got.code != 0 {
				t.Errorf("reset: exit %d with %s", got.code, got.stderr)
			}
		})
	}
	t.Logf("%d files, 0 changed, %d requests", len(tests), requests)
	if requests > 0 {
		t.Error("the model was asked")
	}
}

// Keys that a model makes up are data, also when they look like YAML, and stay
// the same from cycle to cycle.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	keys := []string{
		"a: b", "<<", "*x", "&x", "!!tag", "---", "...", "- a", "? a", "# c", "[", "{", "'", `"`, "%YAML 1.2", "@a", "`",
		" lead", "trail ", "__proto__", "Goals", "NOTES", "notes ", "é", "e\u0301", "null", "~", "yes", "42", "1:30", "0x1F", "2026-01-01", strings.Repeat("k", 200),
	}
	var args []string
	for i, k := range keys {
		args = append(args, fmt.Sprintf("%s: {%s: [%d, %s]}", quote(k), quote(k), i, quote(k)))
	}
	r := newRig(t)
	r.write("scratchpad/active.yaml", "goals: [mine]\ncurrent_task: look\n")
	update := call("update_scratchpad", "{"+strings.Join(args, ", ")+"}")
	r.serve(update, done())
	if got := r.rouse("run"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	first := r.found(t, keys)
	refused := []string{"", "x\ngoals:", "\u2028", "\x1b[2J", strings.Repeat("k", 1<<20), "last_updated"}
	for _, k := range refused { // with all that stands beside them
		r.serve(call("update_scratchpad", `{"beside": 1, `+quote(k)+`: 2}`), done())
		if got := r.rouse("run", "--task", "again"); got.code != 0 {
			t.Fatal(got.stderr)
		}
	}
	if last := r.found(t, keys); !reflect.DeepEqual(first, last) {
		t.Errorf("%v, was %v", last, first)
	}
	if text := r.read("scratchpad/active.yaml"); strings.Contains(text, "beside") {
		t.Errorf("half of an update: %.300q", text)
	}
	t.Logf("%d keys are data for %d cycles, %d are refused", len(keys), 1+len(refused), len(refused))
}

// found reads the values of the keys, which say what they must be.
func (r *rig) found(t *testing.T, keys []string) map[string]any {
	t.Helper()
	s, err := scratchpad.Load(r.path("scratchpad/active.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for i, k := range keys {
		v, ok := s.Value(k)
		want := fmt.Sprint(map[string]any{k: []any{i, k}})
		if !ok || fmt.Sprint(v) != want {
			t.Errorf("%.50q is %.100v, want %.100s", k, v, want)
		}
		all[k] = v
	}
	if goals := fmt.Sprint(s.Goals()); goals != "[mine]" {
		t.Errorf("goals %s", goals)
	}
	return all
}
