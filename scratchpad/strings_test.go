package scratchpad

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"rouse/internal/sweep"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// pieces make the strings that YAML writers and readers get wrong.
var pieces = strings.Split("a|b |B| |\n|\n\n|\t|[TOOL]|: |:|- |-|#| #|'|\"|\\|>|é|😀|👩‍💻|\r|\r\n|\x1b|\x00|---|...|{|}|%|@|`|&a|*a|!|0|1|.|_|+|e|"+
	"\u2028|\u0085|\ufeff|\ufffd|\uffff|\u00a0|\u200b|\U0001fffe|?|<<|,|]|[|=|~|\n---\n|\n...\n|\n# |\n  |  \n|\n\t|\xff", "|")

// lookAlikes are strings that some YAML reader takes for something else.
var lookAlikes = strings.Split("yes|No|on|OFF|y|N|true|False|null|Null|~|1:30|12:30:45|+12:30|-1:30|1:30.5|=|<<|0x_|0x1F|0b1_0|0o17|017|1_000|1e3|1.0e+3|.5|5.|.inf|-.INF|.nan|"+
	"+1|-0|2026-04-01|2026-4-1|2026-04-01T15:01:54Z|2026-04-01 15:01:54.5 +2|!!int 1|&a b|*a|? a|- a|-|--- a|...|%a|@a|`a|[a]|{a: 1}|a: b|a:|:a|a #b|#a|'a'|\"a\"|\\n|"+
	"|  ||| |\t|\n|\n\n|\na|a\n|a\n\n| \na|\n a|\ta\nb|a\n\n b| a\n b|a\n \n|a \nb|\n\n|a\\nb|\n# a|# a\nb|\n- a|\n---|a\n---\n", "|")

// randomStrings gives n strings, the look-alikes first; the same at each call.
func randomStrings(n int) []string {
	rng := rand.New(rand.NewPCG(7, 11))
	out := append([]string(nil), lookAlikes...)
	out = append(out, "|", "|a", "a|b\n|")
	for len(out) < n {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		if rng.IntN(8) == 0 {
			b.WriteString(lookAlikes[rng.IntN(len(lookAlikes))])
		}
		out = append(out, strings.ToValidUTF8(b.String(), "\ufffd"))
	}
	return out
}

// stringsPerState is small enough for a broken one to be found in the output.
const stringsPerState = 250

// stringStates writes each string as a value at the root, as an item, and as a
// key and value further down, and gives the texts and the values meant.
func stringStates(t *testing.T, n int) (texts []string, want []map[string]any) {
	all := randomStrings(n)
	for len(all) > 0 {
		part := all[:min(stringsPerState, len(all))]
		all = all[len(part):]
		s := New()
		items, keys := []any{}, map[string]any{}
		for i, v := range part {
			switch i % 3 {
			case 0:
				mustApply(t, s, Change{OpSet, fmt.Sprintf("k%d", i), v})
			case 1:
				items = append(items, v, []any{v}, map[string]any{"a": v, "b": []any{v, v}})
			case 2:
				keys[v] = v
			}
			if checkKey(v) == nil && i%3 == 1 {
				if _, known := knownKey(v); !known {
					mustApply(t, s, Change{OpSet, v, v})
				}
			}
		}
		mustApply(t, s, Change{OpSet, "goals", items}, Change{OpSet, "current_task", keys}, Change{OpAppend, "notes", part[0]})
		texts = append(texts, mustBytes(t, s))
		want = append(want, values(s))
	}
	return texts, want
}

func values(s *State) map[string]any {
	m := map[string]any{}
	for _, k := range s.Keys() {
		m[k], _ = s.Value(k)
	}
	return m
}

func TestStringsReadBack(t *testing.T) {
	n := sweep.Of(1000, 21_000, 21_000)
	texts, want := stringStates(t, n)
	for i, text := range texts {
		var got map[string]any
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("yaml.v3: %v\n%s", err, text)
		}
		sameAs(t, "yaml.v3", want[i], got)
	}
	t.Run("python", func(t *testing.T) { readWithPython(t, texts, want) })
	t.Logf("%d strings in %d states read back", n, len(texts))
}

// readWithPython has PyYAML read all texts in one process.
func readWithPython(t *testing.T, texts []string, want []map[string]any) {
	if err := exec.Command("python3", "-c", "import yaml").Run(); err != nil {
		t.Skip("python3 with PyYAML is not installed")
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c",
		"import json, sys, yaml; json.dump([yaml.safe_load(t) for t in json.load(sys.stdin)], sys.stdout)")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3: %v\n%s", err, stderr.Bytes())
	}
	var got []map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		sameAs(t, "PyYAML", want[i], got[i])
	}
}

func sameAs(t *testing.T, reader string, want, got map[string]any) {
	t.Helper()
	for k, v := range want {
		if !same(v, got[k]) {
			t.Fatalf("%s: %q\nwrote %q\nread  %q", reader, k, v, got[k])
		}
	}
}
