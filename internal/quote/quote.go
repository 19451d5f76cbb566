// Package quote looks for quotes in what they are said to be from.
//
// A quote is found where the text has the same characters, white space aside: any
// run of it is one space, and escape sequences of terminals are nothing. It must
// begin and end between words and numbers. A number has its sign, its currency,
// its unit where that follows at once, and all of its digits, also behind a point,
// a comma, a dash or a slash: "12" is not in "312", "12.5", "-12", "12%", "12GB" or
// "5/12", nor is "1000" in "1,000".
package quote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Most is how long a quote may be, in characters.
const Most = 4000

// block is how many characters are looked at together.
const block = 64 << 10

// Check says why a quote is none.
func Check(quote string) error {
	switch n := len(fold(quote)); {
	case n > Most:
		return errors.New("it is too long for a quote")
	case !strings.ContainsFunc(quote, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }):
		return errors.New("it says nothing")
	}
	return nil
}

// Find says which of the quotes are in what r gives. It holds a small part of that
// at a time.
func Find(ctx context.Context, r io.Reader, quotes ...string) ([]bool, error) {
	s := search{found: make([]bool, len(quotes))}
	for _, q := range quotes {
		s.quotes = append(s.quotes, fold(q))
		s.keep = max(s.keep, len(s.quotes[len(s.quotes)-1])+2*beside)
	}
	in := bufio.NewReaderSize(r, block)
	for {
		c, _, err := in.ReadRune()
		if err == io.EOF {
			s.look(0)
			return s.found, nil
		}
		if err != nil {
			return nil, err
		}
		if s.text.add(c); len(s.text.runes) < block+s.keep {
			continue
		}
		s.look(beside)
		if !slices.Contains(s.found, false) {
			return s.found, nil
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		s.text.runes = append(s.text.runes[:0], s.text.runes[len(s.text.runes)-s.keep:]...)
		s.begun = true
	}
}

// beside is how many characters beside a quote say whether it ends there.
const beside = 2

// search is where a search stands: a part of the text, folded.
type search struct {
	text   folder
	begun  bool // the part is not the beginning
	keep   int  // of its end, for what reaches into the next part
	quotes [][]rune
	found  []bool
}

// look seeks the quotes in the part, but for so many characters at its end.
func (s *search) look(but int) {
	text := s.text.runes
	for k, q := range s.quotes {
		from := 0
		if s.begun {
			from = beside
		}
		for i := from; !s.found[k] && len(q) > 0 && i+len(q) <= len(text)-but; i++ {
			s.found[k] = same(text[i], q[0]) && slices.EqualFunc(text[i:i+len(q)], q, same) && !inside(text, i) && !inside(text, i+len(q))
		}
	}
}

func same(a, b rune) bool { return a == b || a == hard && b == ' ' || a == ' ' && b == hard }

// hard is a space that groups the digits of one number.
const hard = '\u00a0'

// folder writes a text in one form.
type folder struct {
	runes  []rune
	space  rune // that comes before what comes next, or 0
	escape rune // what kind of escape sequence goes on, or 0
}

func fold(text string) []rune {
	var f folder
	for _, c := range strings.TrimSpace(text) {
		f.add(c)
	}
	return f.runes
}

func (f *folder) add(c rune) {
	switch {
	case f.escape != 0:
		f.skip(c)
	case c == '\x1b':
		f.escape = c
	case unicode.IsSpace(c):
		if f.space != 0 || !strings.ContainsRune("\u00a0\u202f\u2009\u2007", c) {
			c = ' '
		}
		f.space = c
	default:
		f.put(c)
	}
}

// skip passes over the next character of an escape sequence.
func (f *folder) skip(c rune) {
	switch {
	case f.escape == '\x1b' && strings.ContainsRune("[]PX^_", c):
		f.escape = c
	case f.escape == '\x1b' && c >= ' ' && c <= '/':
	case f.escape == '[' && (c < '@' || c > '~') && c >= ' ':
	case f.escape == '\x1b' || f.escape == '[':
		f.escape = 0
	case c == '\x1b': // the first half of what ends a text for the terminal
		f.escape = c
	case c == '\a' || c == '\n':
		f.escape = 0
	}
}

// put writes a character, and before it the space that is due.
func (f *folder) put(c rune) {
	last := f.before(len(f.runes), 1)
	switch {
	case f.space == 0:
		if one := compose(last, c); one != 0 {
			f.runes[len(f.runes)-1] = one
			return
		}
	case f.space != ' ' && unicode.IsDigit(last) && unicode.IsDigit(c):
		f.runes = append(f.runes, hard)
	default:
		f.runes = append(f.runes, ' ')
	}
	f.space = 0
	f.runes = append(f.runes, c)
}

func (f *folder) before(i, n int) rune { return at(f.runes, i-n) }

func at(text []rune, i int) rune {
	if i < 0 || i >= len(text) {
		return 0
	}
	return text[i]
}

// inside says whether position i of a text is inside a word or a number.
func inside(text []rune, i int) bool {
	before, l, r, after := at(text, i-2), at(text, i-1), at(text, i), at(text, i+1)
	number := unicode.IsNumber
	switch {
	case l == 0 || r == 0:
		return false
	case unicode.Is(unicode.M, r), cased(l) && cased(r), number(l) && number(r):
		return true
	case l == 'T' && number(before) && number(r), r == 'T' && number(l) && number(after):
		return false // between the day and the time
	case number(l) && (unicode.IsLetter(r) || unit(r)), number(r) && (cased(l) || money(l) || strings.ContainsRune("+-−±.", l)):
		return true
	case money(r) && strings.ContainsRune("+-−±", l):
		return true
	}
	return number(l) && joins(r) && number(after) || number(before) && joins(l) && number(r)
}

// cased says whether a letter is of a script that parts words by spaces.
func cased(c rune) bool { return unicode.IsUpper(c) || unicode.IsLower(c) }

func money(c rune) bool { return unicode.Is(unicode.Sc, c) }

func unit(c rune) bool { return money(c) || strings.ContainsRune("%‰°′″", c) }

// joins says whether a character between digits makes one number of them.
func joins(c rune) bool { return strings.ContainsRune(".,'’_-‐‑–−/^٫٬\u00a0", c) }
