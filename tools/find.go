package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"rouse/internal/lazy"
	"rouse/internal/object"
	"rouse/internal/text"
)

// FindName and CallName are the tools behind which those of others stand that are too
// many to be shown in each request.
const (
	FindName = "find_tool"
	CallName = "call_tool"
)

//go:embed find_tool.md
var findText string

//go:embed call_tool.md
var callText string

// foundFull and foundLines are how many tools an answer shows in full, and in all.
const foundFull, foundLines = 5, 20

// unsaid are words of a query that say nothing of a tool.
const unsaid = " a about all an and any are as at be by for from i in into is it me my of on or that the this to what which who with "

// Behind hides the tools of others in a list, and adds the two by which they are found
// and called: what a model is shown stays short, and the same for all of a cycle. An answer
// has most bytes, or one tool.
func Behind(list []Tool, most int) []Tool {
	if slices.ContainsFunc(list, func(t Tool) bool { return t.Name == FindName || t.Name == CallName }) {
		return list // commands of the operator's have the names
	}
	f, list := finder{most: most}, slices.Clone(list)
	for i := range list {
		if list[i].Hidden = list[i].Source != ""; list[i].Hidden {
			f.tools = append(f.tools, list[i])
		}
	}
	find := New(FindName, strings.TrimSpace(findText)+" "+f.places(), f.find)
	call := New(CallName, callText, func(_ context.Context, _ Call, a struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args,omitempty"`
	}) Result {
		return Fail("%s is called by its name", a.Name)
	})
	find.ReadOnly, find.Effect, call.Effect = true, "none", "none"
	return append(list, find, call)
}

type finder struct {
	tools []Tool
	most  int
}

func (t Tool) place() string {
	if kind, name, _ := strings.Cut(t.Source, " "); kind != "command" {
		return name
	}
	return "commands"
}

func (f finder) places() string {
	count := map[string]int{}
	for _, t := range f.tools {
		count[t.place()]++
	}
	return text.Join(slices.Sorted(maps.Keys(count)), ", ", func(name string) string { return fmt.Sprintf("%s (%d)", text.Line(name, 40), count[name]) })
}

func (f finder) find(_ context.Context, _ Call, a struct {
	Query string `json:"query,omitempty"`
}) Result {
	var b strings.Builder
	hits := f.search(text.CutBytes(strings.TrimSpace(a.Query), 400)) // each word costs, and no cycle ends in here
	for i, t := range hits {
		said := fmt.Sprintf("- %s: %s\n  args: %s\n", t.Name, strings.ReplaceAll(t.Description, "\n", "\n  "), t.Parameters())
		if i > 0 && b.Len()+len(said) > f.most/2 || i >= foundFull {
			said = fmt.Sprintf("- %s (its name finds its args): %s\n", t.Name, text.Line(t.Description, 80))
		}
		if i == foundLines || i > 0 && b.Len()+len(said) > f.most-100 {
			fmt.Fprintf(&b, "and %d more: say in more words what you look for\n", len(hits)-i)
			break
		}
		b.WriteString(said)
	}
	if len(hits) == 0 {
		b.WriteString("say in other words what you look for; there are: " + f.places())
	}
	return Result{OK: true, Content: b.String(), Whole: b.Len() <= f.most}
}

// search gives the tools for a query, the best first: all of a place where it is one's
// name, else those with its words, of which rare ones and those in names count most.
func (f finder) search(query string) []Tool {
	words, in := make([]map[string]float64, len(f.tools)), map[string]int{}
	for i, t := range f.tools {
		words[i] = t.words()
		for word := range words[i] {
			in[word]++
		}
	}
	score, best := map[string]float64{}, 0.0
	for i, t := range f.tools {
		for _, asked := range wordsOf(query) {
			most := 0.0
			for word, weight := range words[i] {
				most = max(most, weight*alike(word, asked)*math.Log(1+float64(len(f.tools))/float64(in[word])))
			}
			score[t.Name] += most
		}
		if strings.EqualFold(t.place(), query) {
			score[t.Name] = math.MaxFloat32
		}
		if best = max(best, score[t.Name]); t.Name == query {
			score[t.Name] = math.MaxFloat64
		}
	}
	hits := slices.DeleteFunc(slices.Clone(f.tools), func(t Tool) bool { return score[t.Name] == 0 || score[t.Name] < best/3 })
	slices.SortStableFunc(hits, func(a, b Tool) int { return cmp.Compare(score[b.Name], score[a.Name]) })
	return hits
}

// words are those of a tool's name, description and arguments, with their weights.
func (t Tool) words() map[string]float64 {
	words := map[string]float64{}
	add := func(text string, weight float64) {
		for _, word := range wordsOf(text) {
			words[word] = max(words[word], weight)
		}
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(t.Description, "\n", ". "), ". ")
	add(t.Name+" "+t.Description, 1)
	add(first, 3)
	add(t.Name[strings.Index(t.Name, "__")+1:], 4)
	if schema, err := object.Parse(t.Parameters()); err == nil {
		for _, p := range schema.Sub("properties").Members {
			add(p.Key, 1)
		}
	}
	return words
}

// part matches what a name such as sendMessage is made of.
var part = lazy.Regexp{Expr: `\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+`}

// wordsOf are the words of a text that say something, and those that names are made of.
func wordsOf(s string) (words []string) {
	whole := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, word := range append(whole, part.Get().FindAllString(s, -1)...) {
		if word = strings.ToLower(word); !slices.Contains(words, word) && !strings.Contains(unsaid, " "+word+" ") {
			words = append(words, word)
		}
	}
	return words
}

// alike says how much two words are the same one: half where they differ by an ending.
func alike(a, b string) float64 {
	short, n := min(len(a), len(b)), 0
	for n < short && a[n] == b[n] {
		n++
	}
	if a == b {
		return 1
	}
	if n == short && n > 2 || n == short-1 && n > 4 {
		return 0.5
	}
	return 0
}
