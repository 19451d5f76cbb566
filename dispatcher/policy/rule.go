package policy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"rouse/internal/object"
	"rouse/scratchpad/origin"
)

// Rule is one of the operator's. What it leaves out fits any call.
type Rule struct {
	// Tool and Origin are patterns, in which * stands for anything and ? for one character.
	Tool string `yaml:"tool"`
	// Match are patterns of arguments by name, or /regular expressions/.
	Match  map[string]string `yaml:"match"`
	Effect Effect            `yaml:"effect"`
	Origin string            `yaml:"origin"`
	Do     Do                `yaml:"do"`
	Why    string            `yaml:"why"`
}

// Check says what cannot be meant, by an error that begins with the key.
func (r Rule) Check() error {
	switch {
	case r.Do != Allow && r.Do != Ask && r.Do != Deny:
		return fmt.Errorf("do %q: use allow, ask or deny", r.Do)
	case r.Effect != "" && !r.Effect.Known():
		return fmt.Errorf("effect %q: use none, workspace or outward", r.Effect)
	case r.Tool == "update_scratchpad" || r.Tool == "done":
		return fmt.Errorf("tool %s: it changes the memory alone, of which no rule is asked; cycle.locked keeps keys of it", r.Tool)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Match)) {
		if r.Match[name] == "" {
			return fmt.Errorf("match.%s is empty; write what it is to be, or \"*\"", name)
		}
		if e, ok := expression(r.Match[name]); ok {
			if _, err := syntax.Parse(e, syntax.Perl); err != nil {
				return fmt.Errorf("match.%s: %w; what stands between two / is a regular expression", name, err)
			}
		}
	}
	return nil
}

func (r Rule) why() string {
	words := map[Do]string{Allow: "the operator allows it", Ask: "the operator wants to see it first", Deny: "the operator forbids it"}
	return cmp.Or(r.Why, words[r.Do])
}

// String is what a rule is about, and why.
func (r Rule) String() string {
	said := r.why()
	if r.Origin != "" {
		said = "after " + r.Origin + ": " + said
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(r.Match))) {
		said = name + " " + r.Match[name] + ": " + said
	}
	return said
}

// fit says whether a rule fits a call. One that may fit does where it asks or denies.
type fit int

const (
	no fit = iota
	maybe
	yes
)

// sure is a fit of which no doubt is left.
func sure(is bool) fit {
	if is {
		return yes
	}
	return no
}

// fits says whether a rule fits a call with one of its commands.
func (r Rule) fits(c Call, command simple) fit {
	if r.Tool != "" && !glob(r.Tool, c.Tool, false) || r.Effect != "" && r.Effect != c.Effect || !r.from(c.Origins) {
		return no
	}
	least, args := yes, map[string]any{}
	_ = object.Decode(c.Args, &args) // they were checked
	for name, pattern := range r.Match {
		p, f := newPattern(pattern), no
		given, ok := args[name]
		switch {
		case slices.Contains(c.Unseen, name):
			f = maybe
		case c.Tool == "shell" && name == "command":
			f = command.fit(p, r.Do == Allow)
		case ok:
			f = sure(r.many(leaves(given), p.fits))
		}
		least = min(least, f)
	}
	if r.Do == Allow && least == maybe {
		return no
	}
	return least
}

func (r Rule) from(origins origin.Set) bool {
	return r.Origin == "" || r.many(origins, func(name string) bool { return glob(r.Origin, name, false) })
}

// many says whether a rule fits several texts: to be asked or denied one is enough, and
// to be allowed all must fit.
func (r Rule) many(list []string, fits func(string) bool) bool {
	if r.Do != Allow {
		return slices.ContainsFunc(list, fits)
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !fits(s) })
}

// leaves are the texts in a value.
func leaves(v any) (list []string) {
	switch v := v.(type) {
	case []any:
		for _, below := range v {
			list = append(list, leaves(below)...)
		}
	case map[string]any:
		for _, below := range v {
			list = append(list, leaves(below)...)
		}
	default:
		list = append(list, fmt.Sprint(v))
	}
	return list
}

// pattern is a regular expression, or else one in which * stands for anything.
type pattern struct {
	re   *regexp.Regexp
	glob string
}

// newPattern makes a pattern of a text that [Rule.Check] has seen.
func newPattern(text string) pattern {
	if e, ok := expression(text); ok {
		return pattern{re: regexp.MustCompile("(?s:" + e + ")")}
	}
	return pattern{glob: text}
}

func (p pattern) fits(s string) bool {
	if p.re != nil {
		return p.re.MatchString(s)
	}
	return glob(p.glob, s, false)
}

// expression is what stands between two slashes.
func expression(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "/")
	e, closed := strings.CutSuffix(rest, "/")
	return e, ok && closed
}

// glob says whether a pattern fits a text in which * stands for anything and ? for one
// character; open says that the text may go on in any way.
func glob(pattern, s string, open bool) bool {
	p, at := []rune(pattern), []rune(s)
	i, star, back := 0, -1, 0
	for j := 0; j < len(at); {
		switch {
		case i < len(p) && p[i] == '*':
			star, back = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == at[j]):
			i, j = i+1, j+1
		case star >= 0:
			back++
			i, j = star+1, back
		default:
			return false
		}
	}
	return open || strings.Trim(string(p[i:]), "*") == ""
}
