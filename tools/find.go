package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

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

type findArgs struct {
	Query string `json:"query,omitempty"`
}

type callArgs struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

// Bounds of an answer of find_tool: tools that are shown in full, and in a line.
const (
	foundFull  = 5
	foundLines = 20
)

// unsaid are words of a query that say nothing of a tool.
const unsaid = " a about all an and any are as at be by for from i in into is it me my of on or that the this to what which who with "

// Behind hides the tools of others in a list, and adds the two by which they are found
// and called: the list that a model is shown stays short, and the same for all of a cycle.
// An answer has most bytes, or one tool.
func Behind(list []Tool, most int) []Tool {
	if slices.ContainsFunc(list, func(t Tool) bool { return t.Name == FindName || t.Name == CallName }) {
		return list // commands of the operator's have the names
	}
	f, list := &finder{most: most}, slices.Clone(list)
	for i := range list {
		if list[i].Source != "" {
			list[i].Hidden = true
			f.tools = append(f.tools, list[i])
		}
	}
	find := New(FindName, strings.TrimSpace(findText)+" "+f.places(), f.find)
	call := New(CallName, callText, func(_ context.Context, _ Call, a callArgs) Result {
		return Fail("%s is called by its name", a.Name)
	})
	find.ReadOnly, find.Effect, call.Effect = true, "none", "none"
	return append(list, find, call)
}

// Called is the call that the arguments of call_tool stand for.
func Called(args json.RawMessage) (name string, inner, outer *object.Object) {
	outer, err := object.Parse(args)
	if err != nil {
		return "", nil, nil
	}
	given, written := outer.Get("args"), ""
	if json.Unmarshal(given, &written) == nil && written != "" { // as some models write them
		given = json.RawMessage(written)
	}
	if len(given) == 0 || string(given) == "null" {
		given = json.RawMessage("{}")
	}
	if inner, err = object.Parse(given); err != nil {
		return "", nil, nil
	}
	return outer.String("name"), inner, outer
}

// finder finds hidden tools.
type finder struct {
	tools []Tool
	most  int

	once  sync.Once
	words []map[string]float64 // of each tool, with their weights
	in    map[string]int       // how many tools have a word
}

// place is whose tool it is, as the operator calls that.
func (t Tool) place() string {
	kind, name, _ := strings.Cut(t.Source, " ")
	if kind == "command" {
		return "commands"
	}
	return name
}

// places are whose tools there are, with how many.
func (f *finder) places() string {
	count, names := map[string]int{}, []string(nil)
	for _, t := range f.tools {
		if count[t.place()]++; count[t.place()] == 1 {
			names = append(names, t.place())
		}
	}
	more := ""
	if n := len(names) - foundLines; n > 0 {
		names, more = names[:foundLines], fmt.Sprintf(" and %d more", n)
	}
	return text.Join(names, ", ", func(name string) string { return fmt.Sprintf("%s (%d)", text.Line(name, 40), count[name]) }) + more
}

func (f *finder) find(_ context.Context, _ Call, a findArgs) Result {
	hits := f.search(a.Query)
	switch {
	case strings.TrimSpace(a.Query) == "":
		return Result{OK: true, Content: f.places()}
	case len(hits) == 0:
		return Fail("no tool has any of these words; there are: %s", f.places())
	}
	var b strings.Builder
	shown := 0
	for ; shown < min(len(hits), foundFull); shown++ {
		t := f.tools[hits[shown]]
		said := fmt.Sprintf("- %s: %s\n  args: %s\n", t.Name, strings.ReplaceAll(t.Description, "\n", "\n  "), t.takes())
		if b.Len() > 0 && b.Len()+len(said) > f.most/2 {
			break
		}
		b.WriteString(said)
	}
	if hits = hits[shown:]; len(hits) > 0 {
		b.WriteString("Further ones; their names find their arguments:\n")
	}
	for i, hit := range hits {
		t := f.tools[hit]
		said := fmt.Sprintf("- %s: %s\n", t.Name, text.Line(t.Description, 80))
		if i == foundLines || b.Len()+len(said) > f.most-100 {
			fmt.Fprintf(&b, "and %d more: say in more words what you look for\n", len(hits)-i)
			break
		}
		b.WriteString(said)
	}
	return Result{OK: true, Content: b.String(), Whole: b.Len() <= f.most}
}

// takes is the schema of a tool's parameters without the address of its language.
func (t Tool) takes() json.RawMessage {
	schema, err := object.Parse(t.Parameters())
	if err != nil {
		return t.Parameters()
	}
	schema.Remove("$schema")
	return schema.JSON()
}

// search gives the tools for a query, the best first: all of a place where it is one's
// name, else those with its words, of which rare ones and those in names count most.
func (f *finder) search(query string) (hits []int) {
	f.once.Do(f.index)
	score := make([]float64, len(f.tools))
	asked, best := wordsOf(query), 0.0
	asked = slices.DeleteFunc(asked, func(word string) bool { return strings.Contains(unsaid, " "+word+" ") })
	for i, t := range f.tools {
		for _, word := range asked {
			score[i] += f.worth(i, word)
		}
		if strings.EqualFold(t.place(), strings.TrimSpace(query)) {
			score[i] = math.MaxFloat32
		}
		if t.Name == strings.TrimSpace(query) {
			score[i] = math.MaxFloat64
		}
		if score[i] > 0 {
			hits = append(hits, i)
		}
		if score[i] < math.MaxFloat64 {
			best = max(best, score[i])
		}
	}
	slices.SortStableFunc(hits, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return slices.DeleteFunc(hits, func(i int) bool { return score[i] < best/3 })
}

// worth is what a word of a query says for a tool.
func (f *finder) worth(tool int, asked string) (most float64) {
	for word, weight := range f.words[tool] {
		switch {
		case word == asked:
		case len(asked) > 3 && strings.HasPrefix(word, asked), len(word) > 3 && strings.HasPrefix(asked, word):
			weight /= 2
		default:
			continue
		}
		most = max(most, weight*math.Log(1+float64(len(f.tools))/float64(f.in[word])))
	}
	return most
}

// index takes note of the words of all tools: of their names, of what is said of them, and
// of their arguments.
func (f *finder) index() {
	f.in = map[string]int{}
	for _, t := range f.tools {
		words := map[string]float64{}
		add := func(text string, weight float64) {
			for _, word := range wordsOf(text) {
				words[word] = max(words[word], weight)
			}
		}
		first, _, _ := strings.Cut(strings.ReplaceAll(t.Description, "\n", ". "), ". ")
		_, own, named := strings.Cut(t.Name, "__")
		add(t.Name, 1)
		add(t.Description, 1)
		add(first, 3)
		if add(own, 4); !named {
			add(t.Name, 4)
		}
		if schema, err := object.Parse(t.Parameters()); err == nil {
			for _, p := range schema.Sub("properties").Members {
				add(p.Key, 1)
			}
		}
		f.words = append(f.words, words)
		for word := range words {
			f.in[word]++
		}
	}
}

// wordsOf are the words of a text, in small letters and without the s of a plural; also
// those of which a name is made.
func wordsOf(s string) (words []string) {
	for name := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		var b strings.Builder
		last := ' '
		for _, r := range name {
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				b.WriteByte(' ')
			}
			b.WriteRune(r)
			last = r
		}
		for _, word := range append(strings.Fields(b.String()), name) {
			if word = singular(strings.ToLower(word)); !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// singular is a word of English without the ending of its plural.
func singular(word string) string {
	if stem, ok := strings.CutSuffix(word, "ies"); ok && len(stem) > 1 {
		return stem + "y"
	}
	if len(word) > 3 && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}
