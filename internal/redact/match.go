package redact

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// A matcher finds many forms at once.
//
// Every form has at least stride+3 bytes, so wherever one begins, one of the
// positions 0, stride, 2*stride, … of the text lies in its first stride bytes
// with four bytes of the form after it. Only there the text is looked at: four
// bytes, a gram, are hashed into a table of all grams at the first stride
// offsets of all forms. What is not in the table, which is nearly everything,
// costs one look at every stride-th byte, whatever the number of forms.
type matcher struct {
	forms   []form     // sorted by text
	first   [257]int32 // forms[first[c]:first[c+1]] begin with byte c
	longest int        // length of the longest form
	stride  int
	heads   *[1 << tableBits]int32 // by hash: index of the first gram, 0 for none
	grams   []gram                 // from 1; chained by next
}

// form is one spelling of a secret, and what to put in its place.
type form struct{ text, mark string }

// gram is four bytes of a form.
type gram struct {
	word         uint32
	form, offset int32
	next         int32
}

const (
	gramLen   = 4
	maxStride = 13 // more grams, a fuller table: not faster
	tableBits = 13
)

func newMatcher(secrets []secret) *matcher {
	slices.SortStableFunc(secrets, func(a, b secret) int { return cmp.Compare(a.name, b.name) })
	m := &matcher{forms: allForms(secrets), heads: new([1 << tableBits]int32)}
	shortest := len(m.forms[0].text)
	for _, f := range m.forms {
		shortest = min(shortest, len(f.text))
		m.longest = max(m.longest, len(f.text))
		m.first[int(f.text[0])+1]++
	}
	for c := range 256 {
		m.first[c+1] += m.first[c]
	}
	m.stride = min(shortest-gramLen+1, maxStride)
	m.chainGrams()
	m.mendMarks()
	return m
}

// allForms lists the spellings of all secrets, each once, sorted.
func allForms(secrets []secret) []form {
	var forms []form
	seen := make(map[string]bool)
	for _, s := range secrets {
		for _, text := range spellings(s.value) {
			if !seen[text] {
				seen[text] = true
				forms = append(forms, form{text, "[REDACTED:" + s.name + "]"})
			}
		}
	}
	sort.Slice(forms, func(i, j int) bool { return forms[i].text < forms[j].text })
	return forms
}

// chainGrams fills the table. A chain begins with the grams of the highest
// offset, at equal offset with the longest form, so that replace meets forms in
// the order in which they begin in the text, the longest first.
func (m *matcher) chainGrams() {
	order := make([]int32, len(m.forms))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Compare(len(m.forms[a].text), len(m.forms[b].text))
	})
	m.grams = make([]gram, 1, 1+len(m.forms)*m.stride)
	for offset := range m.stride {
		for _, f := range order {
			word := load(m.forms[f].text, offset)
			head := &m.heads[hash(word)]
			m.grams = append(m.grams, gram{word, f, int32(offset), *head})
			*head = int32(len(m.grams) - 1)
		}
	}
}

// mendMarks sees to it that no mark holds a secret, as that of a variable whose
// value is its own name would.
func (m *matcher) mendMarks() {
	for i := range m.forms {
		f := &m.forms[i]
		for _, mark := range []string{f.mark, "[REDACTED]", "***"} {
			f.mark = mark
			if out, _ := m.replace(nil, mark, 0, len(mark)); out == nil {
				break
			}
		}
	}
}

// replace appends s to dst from position from on, with a mark for each stretch
// that forms cover, up to the end of the last such stretch, which it returns.
// Forms that overlap make one stretch, marked as the first of them. Only forms
// that begin before limit count. If there are none, dst and from come back.
func (m *matcher) replace(dst []byte, s string, from, limit int) ([]byte, int) {
	done := from
	m.find(s, limit, func(start int, f *form) {
		if start >= done {
			dst = append(append(dst, s[done:start]...), f.mark...)
		}
		done = max(done, start+len(f.text))
	})
	return dst, done
}

// find tells of each form in s that begins before limit, in the order in which
// they begin, the longest first.
func (m *matcher) find(s string, limit int, found func(start int, f *form)) {
	for i := 0; i+gramLen <= len(s); i += m.stride {
		word := load(s, i)
		for g := m.heads[hash(word)]; g != 0; g = m.grams[g].next {
			gram := &m.grams[g]
			start := i - int(gram.offset)
			if gram.word != word || start < 0 || start >= limit {
				continue
			}
			if f := &m.forms[gram.form]; strings.HasPrefix(s[start:], f.text) {
				found(start, f)
			}
		}
	}
}

// window is s between two places, with a mark for each stretch that reaches into
// it, at its beginning or where the window begins.
func (m *matcher) window(s string, from, to int) string {
	var out []byte
	at, done, marked := from, 0, false // done is where the stretch ends
	m.find(s, to, func(start int, f *form) {
		end := start + len(f.text)
		marked = marked && start < done
		done = max(done, end)
		if end <= from {
			return
		}
		if !marked {
			out = append(append(out, s[at:max(at, start)]...), f.mark...)
			marked = true
		}
		at = max(at, min(end, to))
	})
	return string(append(out, s[at:to]...))
}

// hold returns the first position of s from which on the text may be the
// beginning of a form, or of a longer one than it already holds there.
func (m *matcher) hold(s string) int {
	for p := max(0, len(s)-m.longest+1); p < len(s); p++ {
		c, last := int(s[p]), len(s)-p-1
		for i := m.first[c]; i < m.first[c+1]; i++ {
			text := m.forms[i].text
			if len(text) > last+1 && text[last] == s[p+last] && strings.HasPrefix(text, s[p:]) {
				return p
			}
		}
	}
	return len(s)
}

func load(s string, i int) uint32 {
	b := s[i : i+gramLen]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// hash is Fibonacci hashing: the high bits of a product with 2^32 divided by the
// golden ratio.
func hash(word uint32) uint32 { return word * 2654435769 >> (32 - tableBits) }
