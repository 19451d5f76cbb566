package observation

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"

	re2 "github.com/wasilibs/go-re2"
)

// Bounds of a pattern.
const (
	maxPattern = 1000 // bytes
	maxProgram = 5000 // instructions, for RE2
	rare       = 500  // bytes for each line with a literal, if they are rare
)

// pattern finds the lines that match. A line is matched without its end, which
// is "\n" or "\r\n".
//
// Three ways lead to the same lines: where every match must hold one of a few
// literals, and these are rare, they are found first and the expression runs on
// their lines only; else RE2 runs on many lines at once; and text that RE2 takes
// for something else, which is not UTF-8, goes line by line.
type pattern struct {
	re       *regexp.Regexp
	literals []literal
	required [][]string // every match holds one string of each of these
	pure     bool       // the pattern is its only literal
	// quick gives RE2's form of the pattern, loose one without "end of line", for
	// text with "\r"; nil if it has none.
	quick, loose func() *re2.Regexp
}

// QueryError says that a pattern or a JSON query is none.
type QueryError struct{ msg string }

func (e *QueryError) Error() string { return e.msg }

func queryError(format string, args ...any) error {
	return &QueryError{fmt.Sprintf(format, args...)}
}

// compile takes RE2's syntax, as package regexp does.
func compile(expr string, ignoreCase bool) (*pattern, error) {
	if len(expr) > maxPattern {
		return nil, queryError("pattern has %d bytes, %d are allowed", len(expr), maxPattern)
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		if se, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, queryError("pattern: %s: `%s`", se.Code, se.Expr)
		}
		return nil, queryError("pattern: %v", err)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, queryError("pattern: %v", err)
	}
	p := &pattern{re: re}
	p.pure = tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 && !slices.ContainsFunc(tree.Rune, isLineEnd)
	simple := tree.Simplify()
	p.required = required(simple)
	if list := literals(simple); worth(list) > 0 {
		for _, s := range list {
			p.literals = append(p.literals, literal{text: []byte(s)})
		}
	}
	p.quick = sync.OnceValue(func() *re2.Regexp { return compileRE2(tree, syntax.OpEndLine) })
	p.loose = sync.OnceValue(func() *re2.Regexp { return compileRE2(tree, syntax.OpEmptyMatch) })
	return p, nil
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' || r == '\ufffd' }

// compileRE2 gives RE2's form of an expression, which takes the rest of the line
// too so that a line matches once; nil if it can have none.
func compileRE2(tree *syntax.Regexp, ends syntax.Op) *re2.Regexp {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil
	}
	re, err := re2.Compile("(?:" + withinLine(tree, ends).String() + `)[^\n]*`)
	if err != nil {
		return nil
	}
	return re
}

// withinLine is an expression that, run over many lines, matches within one: no
// class takes a newline, and what meant the ends of the text means those of a
// line. ends stands in for "end of line".
func withinLine(re *syntax.Regexp, ends syntax.Op) *syntax.Regexp {
	out := *re
	switch re.Op {
	case syntax.OpBeginText:
		out.Op = syntax.OpBeginLine
	case syntax.OpEndText, syntax.OpEndLine:
		out.Op = ends
		out.Flags &^= syntax.WasDollar
	case syntax.OpAnyChar:
		out.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		out.Rune = withoutNewline(re.Rune)
		if len(out.Rune) == 0 {
			out.Op = syntax.OpNoMatch
		}
	}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = withinLine(sub, ends)
	}
	return &out
}

// withoutNewline takes "\n" out of a class, which is a list of ranges.
func withoutNewline(class []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(class); i += 2 {
		lo, hi := class[i], class[i+1]
		if lo > '\n' || hi < '\n' {
			out = append(out, lo, hi)
			continue
		}
		if lo < '\n' {
			out = append(out, lo, '\n'-1)
		}
		if hi > '\n' {
			out = append(out, '\n'+1, hi)
		}
	}
	return out
}

// lines calls yield with the beginning and the end, which is its newline or the
// end of b, of each line of b that matches. b is whole lines; text says that it
// is UTF-8.
func (p *pattern) lines(b []byte, text bool, yield func(start, end int)) {
	o := 0
	if len(p.literals) > 0 {
		o = p.byLiterals(b, text, yield)
	}
	if o >= len(b) {
		return
	}
	re, check := p.quick, false
	if text && bytes.IndexByte(b[o:], '\r') >= 0 {
		re, check = p.loose, true
	}
	if !text || re() == nil {
		p.byLine(b, o, yield)
		return
	}
	p.byRE2(re(), b[o:], func(start, end int) {
		start, end = start+o, end+o
		if !check || p.re.Match(bare(b[start:end])) {
			yield(start, end)
		}
	})
}

// byLine runs the expression on each line from o on.
func (p *pattern) byLine(b []byte, o int, yield func(start, end int)) {
	for o < len(b) {
		end := lineEnd(b, o)
		if p.re.Match(bare(b[o:end])) {
			yield(o, end)
		}
		o = end + 1
	}
}

func (p *pattern) byRE2(re *re2.Regexp, b []byte, yield func(start, end int)) {
	next := 0
	for _, m := range re.FindAllIndex(b, -1) {
		if m[0] < next || m[0] == len(b) && b[len(b)-1] == '\n' {
			continue
		}
		start, end := bytes.LastIndexByte(b[next:m[0]], '\n')+1+next, lineEnd(b, m[0])
		if m[1] <= end || p.re.Match(bare(b[start:end])) { // a literal newline can lead out of the line
			yield(start, end)
		}
		next = end + 1
	}
}

// byLiterals gives how far it came: to the end, or to a line after which the
// literals turned out not to be rare, if mayStop.
func (p *pattern) byLiterals(b []byte, mayStop bool, yield func(start, end int)) int {
	at := make([]int, len(p.literals)) // where each is next; len(b) for nowhere
	for i := range at {
		at[i] = -1
	}
	tried := 0
	o := 0
	for o < len(b) {
		hit := len(b)
		for i, s := range p.literals {
			if at[i] < o {
				at[i] = s.index(b, o)
			}
			hit = min(hit, at[i])
		}
		if hit == len(b) {
			return hit
		}
		start, end := bytes.LastIndexByte(b[o:hit], '\n')+1+o, lineEnd(b, hit)
		if p.pure || p.re.Match(bare(b[start:end])) {
			yield(start, end)
		}
		o = end + 1
		if tried++; mayStop && !p.pure && tried > 20 && tried*rare > o {
			return o
		}
	}
	return o
}
