package scratchpad

import (
	"strings"
	"testing"
)

// edited is a state as an operator keeps it.
const edited = `# my agent

# what it is for
goals: # line
  # first
  - a # one
  # second
  - b

  - |
    c
    d
  # foot

# the task
current_task: foo # now
# queue
pending_actions:
- x
-   y   # odd layout
completed_tasks: [ 'one', two ]
notes: "" # keep
mine: {a: 1}   # untouched
last_updated: null
# end
`

func TestSplice(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   Change
		old, new string // what is replaced in the text, and by what
	}{
		{"notes", Change{OpAppend, "notes", "\n[TOOL] a\n  b"}, `notes: "" # keep`, "notes: |- # keep\n\n  [TOOL] a\n    b"},
		{"notes with blank end", Change{OpAppend, "notes", "a\n\n"}, `notes: "" # keep`, "notes: |+ # keep\n  a\n"},
		{"one line", Change{OpSet, "current_task", "bar: x"}, `foo # now`, `'bar: x' # now`},
		{"mapping", Change{OpSet, "current_task", map[string]any{"n": 1, "task": "t"}}, "current_task: foo # now", "current_task: # now\n  task: t\n  'n': 1"},
		{"no task", Change{OpSet, "current_task", nil}, `foo # now`, `null # now`},
		{"new item", Change{OpExtend, "goals", []any{"new", []any{1, "x"}}}, "  # foot\n", "  # foot\n  - new\n  - - 1\n    - x\n"},
		{"item away", Change{OpSet, "goals", []any{"b", "c\nd\n"}}, "  # first\n  - a # one\n", ""},
		{"items swapped", Change{OpSet, "pending_actions", []any{"y", "x"}}, "- x\n-   y   # odd layout\n", "-   y   # odd layout\n- x\n"},
		{"first item away", Change{OpSet, "pending_actions", []any{"y"}}, "- x\n", ""},
		{"list emptied", Change{OpSet, "pending_actions", []any{}}, "pending_actions:\n- x\n-   y   # odd layout\n", "pending_actions: []\n"},
		{"list in brackets", Change{OpExtend, "completed_tasks", []any{"yes"}}, " [ 'one', two ]\n", "\n  - one\n  - two\n  - 'yes'\n"},
		{"new key", Change{OpSet, "new", map[string]any{"a": []any{}, "b": map[string]any{}}}, "# end\n", "# end\nnew:\n  a: []\n  b: {}\n"},
		{"same value", Change{OpSet, "mine", map[string]any{"a": 1}}, "{a: 1}   # untouched\n", "{a: 1}   # untouched\n"},
	} {
		for _, nl := range []string{"\n", "\r\n"} {
			for _, bom := range []string{"", "\ufeff"} {
				t.Run(tt.name+strings.ReplaceAll(strings.ReplaceAll(nl, "\n", " LF"), "\r", " CR")+bom, func(t *testing.T) {
					file := func(text string) string { return bom + strings.ReplaceAll(text, "\n", nl) }
					s := mustParse(t, file(edited))
					mustApply(t, s, tt.change)
					want := file(strings.Replace(edited, tt.old, tt.new, 1))
					if got := mustBytes(t, s); got != want {
						t.Errorf("got\n%q\nwant\n%q", got, want)
					}
					roundTrip(t, s)
				})
			}
		}
	}
}

func TestSpliceShapes(t *testing.T) {
	note := Change{OpAppend, "notes", "x"}
	const missing = "goals: []\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\n"
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", missing + "notes: x\nlast_updated: null\n"},
		{"comment without line end", "# c", "# c\n" + missing + "notes: x\nlast_updated: null\n"},
		{"BOM alone", "\ufeff", "\ufeff" + missing + "notes: x\nlast_updated: null\n"},
		{"marks", "--- # c\nnotes: a # d\n...\n# e\n", "--- # c\nnotes: ax # d\n" + missing + "last_updated: null\n...\n# e\n"},
		{"indented root", "  # c\n  notes: a\n", "  # c\n  notes: ax\n  " + strings.ReplaceAll(strings.TrimSuffix(missing, "\n"), "\n", "\n  ") + "\n  last_updated: null\n"},
		{"no line end", "notes: a", "notes: ax\n" + missing + "last_updated: null\n"},
		{"block without line end", "notes: a\nk: |\n  b", "notes: ax\nk: b\n" + missing + "last_updated: null\n"},
		{"braces", "{notes: a, k: [1, 0x1F]}\n", "notes: ax\nk:\n  - 1\n  - 31\n" + missing + "last_updated: null\n"},
		{"braces and a comment", "{notes: a, # c\n k: [1, 0x1F]}\n", "notes: ax\nk: [1, 0x1F]\n" + missing + "last_updated: null\n"},
		{"explicit key", "? notes\n: a\n", "notes: ax\n" + missing + "last_updated: null\n"},
		{"text over several lines", "notes: a\n  b\n  c\n\n# d\nk: 1\n", "notes: a b cx\n\n# d\nk: 1\n" + missing + "last_updated: null\n"},
		{"quoted over several lines", "notes: \"a\n  b\\\n  c\"\nk: 1\n", "notes: a bcx\nk: 1\n" + missing + "last_updated: null\n"},
		{"comment-like text in a block", "notes: |\n  a\n  # b\n# c\nk: 1\n", "notes: |-\n  a\n  # b\n  x\n# c\nk: 1\n" + missing + "last_updated: null\n"},
		{"kept blank lines", "notes: |+\n  a\n\n# c\nk: 1\n", "notes: |-\n  a\n\n  x\n\n# c\nk: 1\n" + missing + "last_updated: null\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, tt.in)
			mustApply(t, s, note)
			if got := mustBytes(t, s); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			roundTrip(t, s)
		})
	}
}

// A comment that stands deeper than the key above it is no part of its value, and
// stays when that changes, with all that stands above and below it.
func TestDeepComments(t *testing.T) {
	note := Change{OpAppend, "notes", "x\ny"}
	const missing = "goals: []\ncurrent_task: null\npending_actions: []\ncompleted_tasks: []\n"
	for _, tt := range []struct{ name, in, want string }{
		{"under a text", "notes: a\n  # b\nk: 1\n", "notes: |-\n  ax\n  y\n# b\nk: 1\n"},
		{"under nothing", "notes:\n  # b\n\t# c\nk: 1\n", "notes: |-\n  x\n  y\n# b\n# c\nk: 1\n"},
		{"under quotes", "notes: \"a\n  # b\n  c\"\n  # d\nk: 1\n", "notes: |-\n  a # b cx\n  y\n# d\nk: 1\n"},
		{"last in quotes", "notes: \"a\n  # b\"\n# c\nk: 1\n", "notes: |-\n  a # bx\n  y\n# c\nk: 1\n"},
		{"below one that is not", "notes: a\n\n# b\n  # c\n# d\nk: 1\n", "notes: |-\n  ax\n  y\n\n# b\n# c\n# d\nk: 1\n"},
		{"in a block", "notes: |\n  a\n  # b\nk: 1\n", "notes: |-\n  a\n  # b\n  x\n  y\nk: 1\n"},
		{"at the end", "k: 1\nnotes: a\n# b\n   # c\n", "k: 1\nnotes: |-\n  ax\n  y\n# b\n# c\n"},
	} {
		for _, nl := range []string{"\n", "\r\n"} {
			t.Run(tt.name+strings.ReplaceAll(strings.ReplaceAll(nl, "\n", " LF"), "\r", " CR"), func(t *testing.T) {
				s := mustParse(t, strings.ReplaceAll(tt.in, "\n", nl))
				mustApply(t, s, note)
				want := strings.ReplaceAll(tt.want+missing+"last_updated: null\n", "\n", nl)
				if got := mustBytes(t, s); got != want {
					t.Errorf("got\n%q\nwant\n%q", got, want)
				}
				roundTrip(t, s)
			})
		}
	}
}

// So it is with a list that becomes empty, and with one in brackets.
func TestDeepCommentsOfLists(t *testing.T) {
	for in, want := range map[string]string{
		"pending_actions:\n  - a\n  # more here\n":  "pending_actions: []\n# more here\n",
		"pending_actions: [a]\n  # more here\n":     "pending_actions: []\n# more here\n",
		"  pending_actions: [a]\n    # more here\n": "  pending_actions: []\n  # more here\n",
	} {
		s := mustParse(t, in)
		mustApply(t, s, Change{OpSet, "pending_actions", []any{}})
		if got := mustBytes(t, s); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		roundTrip(t, s)
	}
}

func TestKeysStayData(t *testing.T) {
	for _, key := range []string{
		"a: b", "<<", "*x", "&x", "!!tag", "---", "...", "__proto__", "Goals", "GOALS", "goals ", " goals", "1", "1.5", "true", "no", "null", "~",
		"#", "a #b", "?", "? a", "-", "- a", "[a]", "{a}", "'", `"`, `a"b`, `\n`, "%a", "@a", "`a", "|", ">", "é", "e\u0301", "😀", "2026-04-01", "=", strings.Repeat("k", 256),
	} {
		s := mustParse(t, edited)
		mustApply(t, s, Change{OpSet, key, key}, Change{OpSet, "current_task", map[string]any{key: key}})
		text := mustBytes(t, s)
		again := mustParse(t, text)
		if v, ok := again.Value(key); !ok || v != key {
			t.Errorf("%q read back as %v\n%s", key, v, text)
		}
		if !strings.HasPrefix(text, edited[:strings.Index(edited, "current_task")]) {
			t.Errorf("%q changed what stands above\n%s", key, text)
		}
	}
}

func TestLongNestedKey(t *testing.T) {
	s := New()
	long := strings.Repeat("\x01", 3000)
	mustApply(t, s, Change{OpSet, "k", map[string]any{long: map[string]any{"": []any{map[string]any{long: "v\nw"}}}}})
	roundTrip(t, s)
}
